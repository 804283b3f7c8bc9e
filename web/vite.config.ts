// SPDX-License-Identifier: MIT
import { readdirSync, writeFileSync } from 'node:fs';
import { defineConfig, type HtmlTagDescriptor, type Plugin } from 'vite';
import { staged } from './scripts/link.mjs';

/** Preloads the files that the first result needs, which the browser would otherwise discover one after another. */
const early: Plugin = {
  name: 'early',
  transformIndexHtml: {
    order: 'post',
    handler: (_, { bundle = {}, filename }) => {
      if (filename.endsWith('teachers.html')) return [];
      const link = (file: string, attrs: Record<string, string>): HtmlTagDescriptor => ({
        tag: 'link',
        attrs: { href: `./${file}`, crossorigin: '', ...attrs },
      });
      const lab = Object.values(bundle).find((each) => each.type === 'chunk' && each.name === 'plane-lab');
      const scripts = lab?.type === 'chunk' ? [lab.fileName, ...lab.imports] : [];
      const modules = Object.keys(bundle).filter((file) => /\/probust-(?!images-|more-|curves-|rest-)[^/]*\.wasm$/.test(file));
      return [
        ...modules.map((file) => link(file, { rel: 'preload', as: 'fetch' })),
        ...scripts.map((file) => link(file, { rel: 'modulepreload' })),
      ];
    },
  },
};

/**
 * Lists what the service worker keeps (public/sw.js): pages immediately, files when the page is idle. The second engine and
 * SQLite are left out, because they are large and rarely used.
 */
const offline: Plugin = {
  name: 'offline',
  // Runs after the files are written, because scripts that turn out to be empty are not written.
  writeBundle({ dir }) {
    const files = readdirSync(`${dir}/assets`).filter((file) => !/^ort|sql-wasm/.test(file));
    const pages = ['index.html', 'lessons.html', 'teachers.html', 'icon.svg', 'first.svg', 'probust-explorer.js'];
    const listed = (names: string[], folder: string) => names.map((name) => `${folder}${name}`);
    writeFileSync(`${dir}/offline.json`, JSON.stringify({ pages: listed(pages, './'), files: listed(files, './assets/') }));
  },
};

/** Fails if a test builds the page although ctest has already built it for all tests. */
const once: Plugin = {
  name: 'once',
  apply: 'build',
  buildStart() {
    if (process.env.PROBUST_PAGE === 'built') throw new Error('the page is built again, by a test for which ctest has built it');
  },
};

export default defineConfig({
  // The base is relative, so that the built folder works anywhere on a server.
  base: './',
  assetsInclude: ['**/*.onnx'],
  plugins: [early, offline, once],
  // Pre-bundling would lose the .wasm files and the worker, which are next to the package's scripts.
  optimizeDeps: { exclude: ['probust', 'onnxruntime-web'] },
  resolve: { dedupe: ['onnxruntime-web'] },
  server: { fs: { allow: ['.', staged] } },
  worker: { format: 'es' },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    rollupOptions: {
      input: {
        index: 'index.html',
        lessons: 'lessons.html',
        teachers: 'teachers.html',
        'probust-explorer': 'src/element/define.ts',
      },
      // Pages that embed the component refer to its file, so the name has no hash. The file's exports are its interface.
      preserveEntrySignatures: 'exports-only',
      output: { entryFileNames: ({ name }) => (name === 'probust-explorer' ? '[name].js' : 'assets/[name]-[hash].js') },
    },
  },
});
