// SPDX-License-Identifier: MIT
// The lessons, done with the keyboard only, and by touch on a phone.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Step } from '../src/lessons/lesson.js';
import { lessons } from '../src/lessons/lessons.js';
import { dist, launch, problemsOf, seriousViolations, serve, type Server } from './server.js';

let browser: Browser;
let server: Server;

beforeAll(async () => {
  [browser, server] = await Promise.all([launch(), serve(dist)]);
});
afterAll(async () => {
  await browser?.close();
  server?.close();
});

/** The focused element, in any shadow root: its text, label or type. */
const focused = (page: Page) =>
  page.evaluate(() => {
    let active = document.activeElement;
    while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
    const label = active?.getAttribute('aria-label') ?? '';
    const text =
      active instanceof HTMLInputElement ? `${active.type} ${active.closest('label')?.innerText}` : active?.textContent;
    return `${label} ${text ?? ''}`.replace(/\s+/g, ' ').trim();
  });

async function tabTo(page: Page, wanted: RegExp): Promise<void> {
  for (let press = 0; press < 80; ++press) {
    await page.keyboard.press('Tab');
    if (wanted.test(await focused(page))) return;
  }
  throw new Error(`the keyboard does not reach ${wanted}`);
}

/** Checks the page with axe after all numbers have been computed, because numbers are pale until then. */
const accessible = async (page: Page) => {
  await expect
    .poll(() => page.locator('.stale').evaluateAll((all) => all.map((each) => each.outerHTML.slice(0, 200))), { timeout: 15_000 })
    .toEqual([]);
  expect(await seriousViolations(page)).toEqual([]);
};
const reply = (page: Page) => page.locator('.reply');
const revealed = async (page: Page) => {
  await expect.poll(() => reply(page).textContent(), { timeout: 15_000 }).toMatch(/\d%/);
  await page.locator('[data-p]').waitFor();
};

/** Answers the task with the keyboard. */
async function answer(page: Page, lesson: string): Promise<void> {
  if (lesson === 'p') {
    await tabTo(page, /^Point at/);
    for (let press = 0; press < 4; ++press) await page.keyboard.press('Shift+ArrowDown');
    await page.getByRole('button', { name: 'Reveal' }).focus();
  } else if (lesson === 'distance') {
    await tabTo(page, /^radio point 1/);
    await page.keyboard.press('Space');
  } else if (lesson === 'counting') {
    await tabTo(page, /^text the sum/);
    await page.keyboard.type('120');
  } else if (lesson === 'line') {
    await tabTo(page, /^End 1 of the line/);
    for (let press = 0; press < 3; ++press) await page.keyboard.press('Shift+ArrowUp');
    await page.getByRole('button', { name: 'Reveal' }).focus();
  } else {
    await tabTo(page, /^New noise/);
    await page.keyboard.press('Enter');
    await tabTo(page, /^text from/);
    await page.keyboard.type('60');
    await page.keyboard.press('Tab');
    await page.keyboard.type('90,5');
  }
  if (!/^Reveal/.test(await focused(page))) await tabTo(page, /^Reveal/);
  await page.keyboard.press('Enter');
}

const replies: Record<string, RegExp> = {
  p: /p is [\d.]+% here/,
  distance: /^Yes: point 1 keeps it in 80.2% of cases, point 2 in 42.6%/,
  counting: /The sum is 236%: you expected 116 percentage points less.* in 77.4% of cases/,
  line: /the truth is 52.8%.*gives 78.0%.*gives 4\d.\d%/,
  copies: /^p is 82.7%: inside your interval, which is 31 points wide/,
};

/** Returning to a step restores the guess and the reply. */
async function answersAreRestored(page: Page, lesson: number, steps: readonly Step[]): Promise<void> {
  const step = steps.findIndex(({ task }) => task);
  await page.evaluate((hash) => (location.hash = hash), `lesson=${lesson}&step=${step + 1}`);
  await expect.poll(() => page.locator('h2').first().textContent()).toBe(steps[step]!.title);
  await revealed(page);
  const { id } = lessons[lesson - 1]!;
  expect(await reply(page).textContent()).toMatch(replies[id]!);
  if (id === 'distance') expect(await page.getByLabel('point 1', { exact: true }).isChecked()).toBe(true);
  if (id === 'counting') expect(await page.getByLabel('the sum').inputValue()).toBe('120');
}

const contents = lessons.map(({ id, title, steps }, i) => ({ id, title, steps, number: i + 1 }));

it.each(contents)('$title: works with the keyboard', async ({ id, number, steps }) => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  const problems = problemsOf(page);
  await page.goto(`${server.url}/lessons.html`);
  await tabTo(page, new RegExp(`^${contents[number - 1]!.title.replace('?', '\\?')}`));
  await page.keyboard.press('Enter');
  for (const [i, step] of steps.entries()) {
    await expect.poll(() => page.locator('h2').first().textContent()).toBe(step.title);
    await page.locator('probust-plane-picture').waitFor();
    if (step.task) {
      expect(await page.locator('[data-p]').count()).toBe(0);
      expect(await page.locator('.strip .truth').count()).toBe(0);
      await answer(page, id);
      await revealed(page);
      expect(await reply(page).textContent()).toMatch(replies[id]!);
    }
    await accessible(page);
    if (i + 1 < steps.length) {
      await tabTo(page, /^Next/);
      await page.keyboard.press('Enter');
    }
  }
  await page.goBack();
  await expect.poll(() => page.locator('h2').first().textContent()).toBe(steps.at(-2)!.title);
  await answersAreRestored(page, number, steps);
  expect(problems).toEqual([]);
  await page.close();
});

it.each(contents)('$title: works by touch, on a phone', async ({ id, number, steps }) => {
  const context: BrowserContext = await browser.newContext({
    ...{ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, colorScheme: 'dark' },
  });
  const page = await context.newPage();
  const problems = problemsOf(page);
  await page.goto(`${server.url}/lessons.html#lesson=${number}&step=1`);
  for (const [i, step] of steps.entries()) {
    await expect.poll(() => page.locator('h2').first().textContent()).toBe(step.title);
    await page.locator('probust-plane-picture').waitFor();
    if (step.task) {
      if (id === 'distance') await page.getByLabel('point 1', { exact: true }).tap();
      if (id === 'counting') await page.getByLabel('the sum').fill('236');
      if (id === 'copies') for (const [field, value] of [['from', '83'], ['to', '95']] as const) await page.getByLabel(field).fill(value); // prettier-ignore
      if (id === 'line') await expectLineOnPicture(page);
      const reveal = page.getByRole('button', { name: 'Reveal' });
      await reveal.tap();
      // After a drag, Chromium may treat the first tap from another source as the end of the drag.
      if (id === 'line') await reveal.tap({ timeout: 5000 }).catch(() => undefined);
      await revealed(page);
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    await accessible(page);
    if (i + 1 < steps.length) await page.getByRole('link', { name: 'Next' }).tap();
  }
  expect(problems).toEqual([]);
  await context.close();
});

/** Checks that the line covers the picture, and that its ends follow a finger. */
async function expectLineOnPicture(page: Page): Promise<void> {
  const box = async (selector: string) => (await page.locator(selector).boundingBox())!;
  await page.locator('probust-plane-picture').scrollIntoViewIfNeeded();
  const [line, picture] = [await box('probust-lesson-line'), await box('probust-plane-picture')];
  for (const side of ['x', 'y', 'width', 'height'] as const) expect(line[side]).toBeCloseTo(picture[side], 0);
  const end = page.locator('probust-lesson-line .end').first();
  const before = await end.getAttribute('aria-label');
  const { x, y, width, height } = (await end.boundingBox())!;
  const cdp = await page.context().newCDPSession(page);
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', at: { x: number; y: number }[]) =>
    cdp.send('Input.dispatchTouchEvent', { type, touchPoints: at });
  const from = { x: x + width / 2, y: y + height / 2 };
  await touch('touchStart', [from]);
  await touch('touchMove', [{ x: from.x + 20, y: from.y - 60 }]);
  await touch('touchEnd', []);
  await page.waitForTimeout(400); // a tap that follows immediately would count as the second of a double tap
  expect(await end.getAttribute('aria-label')).not.toBe(before);
}

it('hides p until the guess, and withdraws a reply when its point moves', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  await page.goto(`${server.url}/lessons.html#lesson=1&step=2`);
  const point = page.getByRole('application', { name: /^Point at/ });
  await point.waitFor();
  await point.press('ArrowDown');
  await page.waitForTimeout(1500); // longer than the pause before p is spoken
  expect(await page.locator('probust-plane-lab [role=status]').textContent()).not.toMatch(/\d%/);
  await page.getByRole('button', { name: 'Reveal' }).click();
  await revealed(page);
  await point.press('ArrowDown');
  await expect.poll(() => reply(page).textContent()).toBe('Something changed since the last comparison: compare again.');
  await page.getByRole('button', { name: 'Compare again' }).click();
  await revealed(page);
  await page.close();
});

it('keeps the reply while the two points are shown, until another option is chosen', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  await page.goto(`${server.url}/lessons.html#lesson=2&step=2`);
  await page.getByLabel('point 1', { exact: true }).check();
  await page.getByRole('button', { name: 'Reveal' }).click();
  await revealed(page);
  await page.getByRole('button', { name: 'Show point 2' }).click();
  await expect.poll(() => page.getByRole('application', { name: /^Point at 0.30/ }).count()).toBe(1);
  expect(await reply(page).textContent()).toMatch(/^Yes/);
  await page.getByLabel('both equally').check();
  await expect.poll(() => reply(page).textContent()).toBe('Something changed since the last comparison: compare again.');
  await page.close();
});

it('keeps a guess that was not compared yet', async () => {
  const page = await browser.newPage();
  await page.goto(`${server.url}/lessons.html#lesson=3&step=2`);
  await page.getByLabel('the sum').fill('120');
  await page.getByRole('link', { name: 'Skip' }).click();
  await expect.poll(() => page.locator('h2').first().textContent()).toBe(lessons[2]!.steps[2]!.title);
  await page.goBack();
  await expect.poll(() => page.getByLabel('the sum').inputValue()).toBe('120');
  expect(await page.locator('[data-p]').count()).toBe(0);
  await page.getByRole('button', { name: 'Reveal' }).click();
  await revealed(page);
  await page.close();
});

it('says which numbers are valid', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${server.url}/lessons.html#lesson=5&step=2`);
  const [from, to, reveal] = [page.getByLabel('from'), page.getByLabel('to'), page.getByRole('button', { name: 'Reveal' })];
  await to.fill('90');
  for (const wrong of ['abc', '-20', '150', '  ']) {
    await from.fill(wrong);
    expect(await reveal.isDisabled()).toBe(true);
    expect(await page.locator('.hint').count()).toBe(wrong.trim() === '' ? 0 : 1);
  }
  await from.fill('70,5 %');
  expect(await from.inputValue()).toBe('70,5 %');
  expect(await reveal.isDisabled()).toBe(false);
  await page.close();
});

it('moves the point once for each press of a key, however fast', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${server.url}/lessons.html#lesson=1&step=1`);
  const point = page.getByRole('application', { name: /^Point at/ });
  await point.waitFor();
  const place = async () => Number(/, (-?[\d.]+),? /.exec((await point.getAttribute('aria-label'))!)![1]);
  const before = await place();
  await point.evaluate((handle) => {
    for (let press = 0; press < 10; ++press)
      handle.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp', bubbles: true }));
  });
  await expect.poll(place).toBeCloseTo(before + (10 * 1.6) / 75, 1);
  await page.close();
});

it('has notes for teachers whose links open each task', async () => {
  const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
  const problems = problemsOf(page);
  await page.goto(`${server.url}/teachers.html`);
  expect(await seriousViolations(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  const links = await page
    .locator('a[href*="#lesson="]')
    .evaluateAll((all) => all.map((each) => (each as HTMLAnchorElement).href));
  expect(links.length).toBe(lessons.length);
  for (const link of links) {
    await page.goto(link);
    await page.getByRole('button', { name: 'Reveal' }).waitFor();
  }
  expect(problems).toEqual([]);
  await page.close();
});
