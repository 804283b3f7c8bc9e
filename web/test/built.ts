// SPDX-License-Identifier: MIT
// Before all tests: builds the page that they test, unless ctest has built it for all files of tests.
import { build } from 'vite';

export default async function setup(): Promise<void> {
  // As for visitors: with vitest's own NODE_ENV, libraries would give their slower files for development.
  process.env.NODE_ENV = 'production';
  if (process.env.PROBUST_PAGE === 'built') return;
  await build({ logLevel: 'warn', mode: 'production' });
}
