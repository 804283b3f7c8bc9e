// SPDX-License-Identifier: MIT
// Before all tests: builds what they look at.
import { build } from 'vite';

export default async function setup(): Promise<void> {
  // What visitors get: vitest's own NODE_ENV would choose the slower files that libraries keep for development.
  process.env.NODE_ENV = 'production';
  await build({ logLevel: 'warn', mode: 'production' });
}
