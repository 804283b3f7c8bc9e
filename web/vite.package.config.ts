// SPDX-License-Identifier: MIT
// The explorer as `probust/explorer`, a folder of the staged package. File names have no hashes; the package's own modules are
// imported rather than bundled.
import { join } from 'node:path';
import { defineConfig } from 'vite';
import { staged } from './scripts/link.mjs';

export default defineConfig({
  base: './',
  assetsInclude: ['**/*.onnx'],
  publicDir: false,
  build: {
    target: 'es2022',
    outDir: join(staged, 'explorer'),
    emptyOutDir: true,
    assetsInlineLimit: 0, // strict policies block data URLs
    modulePreload: false,
    rollupOptions: {
      input: { explorer: 'src/element/package.ts' },
      external: /^probust(\/|$)/,
      preserveEntrySignatures: 'strict',
      output: {
        entryFileNames: '[name].mjs',
        chunkFileNames: '[name].mjs',
        assetFileNames: '[name][extname]',
        paths: (id) => `../${id.replace(/^probust\//, '')}.mjs`,
      },
    },
  },
});
