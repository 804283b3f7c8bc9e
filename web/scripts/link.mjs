// SPDX-License-Identifier: MIT
// Links node_modules/probust to the staged package, so that Vite, TypeScript and node use the same package.
import { existsSync, lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const web = dirname(dirname(fileURLToPath(import.meta.url)));

/** The folder of the staged package: PROBUST_PACKAGE or, by default, that of `cmake --build --preset wasm`. */
export const staged = resolve(web, process.env.PROBUST_PACKAGE ?? '../build/wasm/npm');

function link() {
  if (!existsSync(join(staged, 'package.json'))) {
    throw new Error(`no probust package in ${staged}: run "cmake --build --preset wasm", or set PROBUST_PACKAGE`);
  }
  const place = join(web, 'node_modules', 'probust');
  const there = lstatSync(place, { throwIfNoEntry: false });
  if (there?.isSymbolicLink() && readlinkSync(place) === staged) return;
  if (there) rmSync(place, { recursive: true });
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(staged, place, 'dir');
}

link();
