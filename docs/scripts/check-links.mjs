// SPDX-License-Identifier: MIT
// Checks every internal link of the built site: node check-links.mjs SITE BASE. A link must lead to a file in SITE, and its part
// after # to an element of that page. Prints broken links; the exit status is 1 if there are any.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

const [site, base] = process.argv.slice(2);

const pages = readdirSync(site, { recursive: true })
  .filter((name) => name.endsWith('.html') && !/^(cpp|explorer)\//.test(name))
  .map((name) => join(site, name));

const decoded = (text) => decodeURIComponent(text.replaceAll('&amp;', '&'));
const ids = new Map();

/** The ids of a page. */
function idsOf(path) {
  if (!ids.has(path)) ids.set(path, new Set([...readFileSync(path, 'utf8').matchAll(/\bid="([^"]+)"/g)].map(([, id]) => decoded(id))));
  return ids.get(path);
}

function fileOf(address) {
  const path = join(site, decoded(address.slice(base.length)));
  const candidates = [path, `${path}.html`, join(path, 'index.html')];
  return candidates.find((each) => existsSync(each) && statSync(each).isFile());
}

/** The problem of a link on `page`; undefined if it is valid. */
function problem(page, link) {
  if (/^(https?:|mailto:|data:)/.test(link)) return undefined;
  const [address, part] = link.split('#');
  if (address && !address.startsWith(base)) return 'is outside the site';
  const file = address ? fileOf(address.split('?')[0]) : page;
  if (!file) return 'has no target';
  if (part && file.endsWith('.html') && !/\/(cpp|explorer)\//.test(file) && !idsOf(file).has(decoded(part))) return 'has no target after #';
  return undefined;
}

let broken = 0,
  links = 0;
for (const page of pages) {
  for (const [, link] of readFileSync(page, 'utf8').matchAll(/\b(?:href|src)="([^"]*)"/g)) {
    ++links;
    const wrong = problem(page, link);
    if (!wrong) continue;
    ++broken;
    console.error(`${relative(site, page)}: ${link} ${wrong}`);
  }
}
console.log(`${links} links of ${pages.length} pages, ${broken} broken`);
process.exit(broken > 0 || pages.length < 10 ? 1 : 0);
