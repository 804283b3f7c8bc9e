// SPDX-License-Identifier: MIT
// `npm run dev`: the page from Vite's development server.
import { spawn, type ChildProcess } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launch, problemsOf, root } from './server.js';

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

let server: ChildProcess;
let url: string;
beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}/`;
  const args = ['run', 'dev', '--', '--host', '127.0.0.1', '--port', `${port}`, '--strictPort'];
  // The server has its own process group, so that npm's children can be stopped, too.
  server = spawn('npm', args, { cwd: join(root, 'web'), stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  await new Promise<void>((resolve, reject) => {
    server.stdout!.on('data', (text: Buffer) => text.includes('ready in') && resolve());
    server.once('exit', (code) => reject(new Error(`npm run dev ended with ${code}`)));
  });
});
afterAll(() => {
  server.removeAllListeners('exit');
  process.kill(-server.pid!);
});

it('shows p', async () => {
  const browser = await launch();
  try {
    const page = await browser.newPage();
    const problems = problemsOf(page);
    await page.goto(url);
    // At the first visit, Vite bundles dependencies and then reloads the page.
    await expect.poll(() => page.locator('probust-plane-lab .big').first().textContent(), { timeout: 60_000 }).toMatch(/\d%/);
    expect(problems).toEqual([]);
  } finally {
    await browser.close();
  }
});
