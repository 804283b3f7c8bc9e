// SPDX-License-Identifier: MIT
// The site: the Markdown files in this folder and those that scripts/generate.mjs writes. PROBUST_DOCS_BASE: the path on the server
// where the site is published, such as /probust/. PROBUST_REPOSITORY: the address of the repository, for links to sources.
import { katex } from '@mdit/plugin-katex';
import { defineConfig } from 'vitepress';
import { blocks, built, figures, links, longCode } from './markdown';

const page = (text: string, link: string) => ({ text, link });

const start = [page('In a browser', '/start/browser'), page('Command line', '/start/command-line'), page('Python', '/start/python')];

const guides = [
  page('Choosing an estimator', '/choosing'),
  page('Noise', '/noise'),
  page('Your own model', '/own-model'),
  page('Check data and model', '/check'),
  page('Data to start with', '/data'),
  page('Tabular data', '/tabular'),
  page('Rare failures', '/rare-failures'),
  page('Compare, gate, export', '/gate'),
  page('A gate in CI', '/ci'),
  page('Analysis of runs', '/analysis'),
  page('Reports', '/report'),
  page('Survey', '/survey'),
  page('Which perturbations matter', '/perturbation-results'),
  page('Clusters', '/cluster'),
  page('Dashboards and embedding', '/dashboard'),
  page('NVIDIA GPUs', '/cuda'),
];

const reference = [
  page('Command line', '/command-line'),
  page('Rows and files', '/rows'),
  page('Estimators', '/estimators'),
  page('Glossary', '/glossary'),
  page('Operators', '/operators'),
  page('JavaScript', '/javascript'),
  page('Components', '/components'),
  page('TypeScript', '/typescript'),
  page('Python', '/python'),
  page('C and C++', '/cpp'),
];

const theory = [
  page('The problem', '/theory/'),
  page('Linear models', '/theory/linear'),
  page('Linearising at a point', '/theory/taylor'),
  page('Smoothed gradients', '/theory/mmse'),
  page('The mv-sigmoid', '/theory/mv-sigmoid'),
  page('Probit', '/theory/probit'),
  page('Regression', '/theory/regression'),
  page('Subset simulation', '/theory/subset'),
  page('Intervals', '/theory/intervals'),
  page('Computing Φ', '/normal'),
];

const project = [
  page('Benchmarks', '/benchmarks'),
  page('Speed', '/performance'),
  page('Experiments of the papers', '/reproduce'),
  page('Platforms and packages', '/platforms'),
  page('Security', '/security'),
  page('Architecture', '/architecture'),
  page('Contributing', '/contributing'),
  page('Changes', '/changelog'),
  page('From 0.1 to 0.2', '/upgrade'),
];

const group = (text: string, items: typeof start) => ({ text, items, collapsed: false });

export default defineConfig({
  title: 'probust',
  description: "The probability that a classifier's prediction survives noise",
  lang: 'en',
  base: process.env.PROBUST_DOCS_BASE ?? '/',
  outDir: process.env.PROBUST_DOCS_OUT ?? '../build/site',
  cacheDir: '../build/site-cache',
  srcExclude: ['node_modules/**', 'generated/partials/**'],
  rewrites: { 'generated/:page*': ':page*' },
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${process.env.PROBUST_DOCS_BASE ?? '/'}icon.svg` }]],
  markdown: {
    theme: { light: 'github-light', dark: 'github-dark' },
    languageAlias: { 'main.js': 'js', 'index.html': 'html', explorer: 'html', observable: 'js' },
    config(md) {
      md.use(links);
      md.use(blocks);
      md.use(figures);
      md.use(longCode);
      md.use(katex, { output: 'htmlAndMathml', transformer: (html) => html.replace('<span', '<span v-pre') });
    },
  },
  vue: { template: { compilerOptions: { isCustomElement: (tag) => tag.startsWith('probust-') } } },
  vite: {
    define: { __EXPLORER__: built('explorer'), __CPP__: built('cpp') },
    build: { chunkSizeWarningLimit: 2000 },
  },
  themeConfig: {
    outline: [2, 3],
    search: { provider: 'local' },
    nav: [
      page('Start', '/start/browser'),
      page('Guides', '/choosing'),
      page('Reference', '/command-line'),
      page('Theory', '/theory/'),
      page('Benchmarks', '/benchmarks'),
    ],
    sidebar: [
      group('Quick starts', start),
      group('Guides', guides),
      group('Reference', reference),
      group('Theory', theory),
      group('Project', project),
    ],
    docFooter: { prev: 'Previous', next: 'Next' },
    footer: { message: 'MIT licence' },
  },
});
