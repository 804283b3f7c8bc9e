// SPDX-License-Identifier: MIT
// A server that sends files with the headers that a test needs, and a real browser.
import { createServer, type OutgoingHttpHeaders } from 'node:http';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { chromium, type BrowserContext } from 'playwright-core';

export const chromiumPath = process.env.PROBUST_CHROMIUM ?? '/usr/bin/chromium';
export const strictPolicy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'";
export const isolation = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

const types: Record<string, string> = {
  '.html': 'text/html',
  '.mjs': 'text/javascript',
  '.js': 'text/javascript',
  '.wasm': 'application/wasm',
};

/** The headers of all files, or a function that returns the headers for a path. */
export type Headers = OutgoingHttpHeaders | ((path: string) => OutgoingHttpHeaders);

/**
 * Serves the files of `folders`. If several folders contain the file, the first one is used. `allows` is called with every
 * requested path; if it returns false, the path is rejected.
 */
export async function serve(
  folders: readonly string[],
  headers: Headers = {},
  allows: (path: string) => boolean = () => true,
): Promise<{ url: string; close(): void }> {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url!, 'http://x').pathname));
    const file = folders.map((folder) => join(folder, path)).find((each) => existsSync(each) && statSync(each).isFile());
    if (!allows(path) || !file) return void response.writeHead(404).end();
    const own = typeof headers === 'function' ? headers(path) : headers;
    response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream', ...own });
    response.end(readFileSync(file));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

export interface Browser {
  context: BrowserContext;
  close(): Promise<void>;
}

/** With these flags, a GPU is emulated in software. */
export const webGpuFlags = ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--enable-features=Vulkan'];

export async function launch(flags: readonly string[] = []): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), 'probust-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumPath,
    args: [
      '--no-sandbox',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...flags,
    ],
  });
  return {
    context,
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** The text that the page writes as its result. Errors of the page, its workers and its policy make the test fail. */
export async function resultOf({ context }: Browser, url: string, timeout = 30_000): Promise<string> {
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  try {
    await page.goto(url);
    await page.waitForSelector('#result:not(:empty)', { state: 'attached', timeout });
    return (await page.textContent('#result'))!;
  } catch (error) {
    throw new Error([String(error), ...problems].join('\n'));
  } finally {
    await page.close();
  }
}
