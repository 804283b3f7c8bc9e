// SPDX-License-Identifier: MIT
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/*.test.ts'],
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } }, // the default of one second is too short for a page on a busy machine
    // --expose-gc lets memory.test.ts collect garbage; load.mjs lets tests import the package without the test runner.
    poolOptions: { forks: { execArgv: ['--expose-gc', '--import', new URL('test/load.mjs', import.meta.url).href] } },
  },
});
