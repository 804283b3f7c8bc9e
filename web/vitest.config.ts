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
    expect: { poll: { timeout: 15_000 } }, // the default of one second is too short for a page on a busy machine
  },
});
