// SPDX-License-Identifier: MIT
// Runs before all tests: builds the page that they test, unless ctest has already built it for all of them.
import { build } from 'vite';

export default async function setup(): Promise<void> {
  // Use the production build: with vitest's own NODE_ENV, libraries would load their slower development files.
  process.env.NODE_ENV = 'production';
  if (process.env.PROBUST_PAGE === 'built') return;
  await build({ logLevel: 'warn', mode: 'production' });
}
