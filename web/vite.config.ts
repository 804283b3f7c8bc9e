// SPDX-License-Identifier: MIT
import { defineConfig } from 'vite';
import { staged } from './scripts/link.mjs';

export default defineConfig({
  // Relative, so that the built folder works wherever it is put.
  base: './',
  // Pre-bundling would lose the .wasm files and the worker that lie beside the package's scripts.
  optimizeDeps: { exclude: ['probust', 'onnxruntime-web'] },
  resolve: { dedupe: ['onnxruntime-web'] },
  server: { fs: { allow: ['.', staged] } },
  worker: { format: 'es' },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    rollupOptions: {
      input: { index: 'index.html', 'probust-explorer': 'src/element/define.ts' },
      // Pages that embed the component name its file, so that one keeps its name. Its exports are its interface.
      preserveEntrySignatures: 'exports-only',
      output: { entryFileNames: ({ name }) => (name === 'probust-explorer' ? '[name].js' : 'assets/[name]-[hash].js') },
    },
  },
});
