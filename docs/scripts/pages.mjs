// SPDX-License-Identifier: MIT
// The sources of pages, for the generator and for links.
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const docs = dirname(dirname(fileURLToPath(import.meta.url)));
export const root = dirname(docs);

/** Files in other folders that are pages of the site, with the names of their pages. */
export const foreignPages = {
  'wasm/README.md': 'javascript',
  'wasm/COMPONENTS.md': 'components',
  'web/README.md': 'explorer-development',
  'demos/ci/README.md': 'ci',
  'native/python/README.md': 'python',
  'SECURITY.md': 'security',
  'CONTRIBUTING.md': 'contributing',
  'CHANGELOG.md': 'changelog',
};

/** Files that the site offers for download, in its folder files/. */
export const downloads = ['demos/digits/digits.onnx', 'demos/digits/points.npz', 'docs/rows.schema.json'];

/** The page to which a link leads, such as /name; undefined if the target is not a page. */
export function pageOf(path) {
  const inside = path.startsWith(docs + '/') ? path.slice(docs.length + 1) : undefined;
  if (inside?.endsWith('.md')) return '/' + inside.replace(/^generated\//, '').replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '');
  const foreign = foreignPages[path.slice(root.length + 1)];
  return foreign && `/${foreign}`;
}

/** The file in the repository from which a page is generated. */
export const sourceOf = (path, frontmatter) => (frontmatter?.source ? resolve(root, frontmatter.source) : path);
