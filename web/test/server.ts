// SPDX-License-Identifier: MIT
// A server of the built page, which counts the bytes that it sends, and a real browser.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { existsSync, readFileSync, statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { chromium, type Browser, type Page } from 'playwright-core';

const web = dirname(dirname(fileURLToPath(import.meta.url)));
export const root = dirname(web);
export const dist = join(web, 'dist');

const types: Record<string, string> = {
  '.html': 'text/html',
  '.mjs': 'text/javascript',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

export interface Server {
  url: string;
  /** Compressed bytes sent so far. */
  sent(): number;
  files(): string[];
  close(): void;
}

/** Headers that allow a page to measure its memory. */
const isolation = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

/**
 * The policy: everything must come from the site itself. Only Playwright's waitForFunction needs eval; the page itself only
 * compiles WebAssembly.
 */
const policy = (evaluating: string) => `default-src 'self'; script-src 'self' '${evaluating}'; style-src 'self'`;

/** Serves the files of `folders`, compressed. If several folders contain the file, the first one is used. */
export const serve = (...folders: string[]): Promise<Server> => start(folders, policy('unsafe-eval'));

/** Serves the same files with a policy that does not allow eval. */
export const serveStrictly = (...folders: string[]): Promise<Server> => start(folders, policy('wasm-unsafe-eval'));

/** The content security policy applies to the files of the site, not to those of tests and demos. */
async function start(folders: string[], policy: string): Promise<Server> {
  let sent = 0;
  const files: string[] = [];
  const packed = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url!, 'http://x').pathname));
    const file = folders.map((folder) => join(folder, path)).find((each) => existsSync(each) && statSync(each).isFile());
    if (!file) return void response.writeHead(404).end();
    // Optional engines are large and are not measured, so they are compressed quickly.
    const key = `${file} ${statSync(file).mtimeMs}`;
    const body = packed.get(key) ?? gzipSync(readFileSync(file), { level: statSync(file).size > 8e6 ? 1 : 6 });
    packed.set(key, body);
    sent += body.length;
    files.push(`${path} ${body.length}`);
    const type = types[extname(file)] ?? 'application/octet-stream';
    const headers = {
      'content-type': type,
      'content-encoding': 'gzip',
      'cache-control': 'max-age=600',
      ...isolation,
      ...(file.startsWith(dist) && { 'content-security-policy': policy }),
    };
    response.writeHead(200, headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, sent: () => sent, files: () => files, close: () => server.close() };
}

/** Unless their context allows it, pages get no service worker, because it would hide requests from the tests. */
export async function launch(...flags: string[]): Promise<Browser> {
  const executablePath = process.env.PROBUST_CHROMIUM ?? '/usr/bin/chromium';
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', ...flags] });
  const [newPage, newContext] = [browser.newPage.bind(browser), browser.newContext.bind(browser)];
  browser.newPage = (options) => newPage({ serviceWorkers: 'block', ...options });
  browser.newContext = (options) => newContext({ serviceWorkers: 'block', ...options });
  return browser;
}

/** The errors and warnings of a page. Tests expect none. */
export function problemsOf(page: Page): string[] {
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    const blocked = message.text().startsWith('Service Worker registration blocked');
    if (['error', 'warning'].includes(message.type()) && !blocked) problems.push(message.text());
  });
  return problems;
}

/** The serious and critical violations that axe finds. */
export async function seriousViolations(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(
        ({ id, nodes }) =>
          `${id}: ${nodes
            .slice(0, 3)
            .map(({ html }) => html.slice(0, 160))
            .join(' | ')}`,
      );
  });
}
