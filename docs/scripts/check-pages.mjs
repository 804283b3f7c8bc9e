// SPDX-License-Identifier: MIT
// Opens every page of the built site in Chromium at a width of 360 pixels: node check-pages.mjs SITE BASE. Pages must not be
// wider than the screen, and must not report errors; the explorer must show its number. PROBUST_CHROMIUM: the browser.
import { existsSync, readdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { serve } from './serve.mjs';

const [site, base] = process.argv.slice(2);
const executablePath = process.env.PROBUST_CHROMIUM ?? '/usr/bin/chromium';
if (!existsSync(executablePath)) {
  console.log('pages not opened: no Chromium');
  process.exit(0);
}

const pages = readdirSync(site, { recursive: true }).filter((name) => name.endsWith('.html') && !/^(cpp|explorer)\//.test(name) && name !== '404.html');
const { server, url } = await serve(site, base);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const problems = [];

/** Opens pages one after another. */
async function open(names) {
  const context = await browser.newContext({ viewport: { width: 360, height: 800 }, serviceWorkers: 'block' });
  const page = await context.newPage();
  let current = '';
  page.on('pageerror', (error) => problems.push(`${current}: ${error}`));
  page.on('console', (message) => message.type() === 'error' && problems.push(`${current}: ${message.text()}`));
  for (const name of names) {
    current = name;
    await page.goto(url + name, { waitUntil: 'load' });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) problems.push(`${name} is ${wide} pixels wider than the screen`);
    if (await page.locator('.live-explorer[data-built=true]').count()) {
      const number = page.locator('probust-explorer [data-testid="p"]').first();
      await number.scrollIntoViewIfNeeded({ timeout: 20000 });
      await number.getByText(/\d/).first().waitFor({ timeout: 20000 }).catch(() => problems.push(`${name}: the explorer shows no number`));
    }
  }
  await context.close();
}

await Promise.all([0, 1].map((k) => open(pages.filter((_, i) => i % 2 === k))));
await browser.close();
server.close();
for (const each of problems) console.error(each);
console.log(`${pages.length} pages opened, ${problems.length} problems`);
process.exit(problems.length > 0 || pages.length < 10 ? 1 : 0);
