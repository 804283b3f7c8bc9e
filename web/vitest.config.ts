// SPDX-License-Identifier: MIT
import { defineConfig } from 'vitest/config';

export default defineConfig({
  assetsInclude: ['**/*.onnx'],
  test: {
    include: ['test/*.test.ts'],
    globalSetup: 'test/built.ts',
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 240_000,
  },
});
