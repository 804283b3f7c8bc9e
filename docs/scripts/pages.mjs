// SPDX-License-Identifier: MIT
// Where pages come from, for the generator and for links.
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const docs = dirname(dirname(fileURLToPath(import.meta.url)));
export const root = dirname(docs);

/** Files of other folders that are pages of the site, and their names there. */
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

/** The page at which a link of a page leads, as /name#part; undefined if it leads to a file that is not a page. */
export function pageOf(path) {
  const inside = path.startsWith(docs + '/') ? path.slice(docs.length + 1) : undefined;
  if (inside?.endsWith('.md')) return '/' + inside.replace(/^generated\//, '').replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '');
  const foreign = foreignPages[path.slice(root.length + 1)];
  return foreign && `/${foreign}`;
}

/** The file in the repository that a page is made of. */
export const sourceOf = (path, frontmatter) => (frontmatter?.source ? resolve(root, frontmatter.source) : path);
