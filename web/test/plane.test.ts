// SPDX-License-Identifier: MIT
// The 2-D lab in a real browser.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { dist, launch, problemsOf, seriousViolations, serve, type Server } from './server.js';

let browser: Browser;
let server: Server;
let page: Page;
let problems: string[];

beforeAll(async () => {
  [browser, server] = await Promise.all([launch(), serve(dist)]);
});
afterAll(async () => {
  await browser?.close();
  server?.close();
});
beforeEach(async () => {
  page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' });
  problems = problemsOf(page);
});
afterEach(async () => {
  await page.close();
  expect(problems).toEqual([]);
});

const open = async (hash = '', query = '') => {
  // A change of the hash alone does not load the page again.
  await page.goto('about:blank');
  await page.goto(`${server.url}/index.html${query}#more=1&${hash}`);
  await page.waitForSelector('[data-p]');
};

/** p and the tinted mass, as soon as they belong to the current state. */
async function settled(): Promise<{ p: number; mass: number }> {
  // Counts the page's own frames, because a busy page may not have drawn anything yet after a fixed time.
  await page.evaluate(
    () => new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(then, 60)))),
  );
  await page.waitForFunction(() => {
    const lab = document.querySelector('probust-explorer')!.shadowRoot!.querySelector('probust-plane-lab')!.shadowRoot!;
    return lab.querySelector('.estimators') && !lab.querySelector('.big.stale, .boundary.stale, .estimators.stale');
  });
  const p = Number(await page.locator('[data-p]').getAttribute('data-p'));
  const mass = Number(await page.locator('[data-mass]').getAttribute('data-mass'));
  return { p, mass };
}

const pictureBox = async () => (await page.locator('probust-plane-picture').boundingBox())!;

describe('the point', () => {
  it('has a smaller p closer to a boundary', async () => {
    // On "moons", straight down from the middle of class A to class B.
    await open('model=moons&data=moons&classes=2&x=0,1.2&sigma=0.2');
    const box = await pictureBox();
    const at = (y: number): [number, number] => [box.x + box.width / 2, box.y + ((1.6 - y) / 3.2) * box.height];
    const found = [(await settled()).p];
    await page.mouse.move(...at(1.2));
    await page.mouse.down();
    for (const y of [0.9, 0.5, 0.2]) {
      await page.mouse.move(...at(y), { steps: 4 });
      found.push((await settled()).p);
    }
    await page.mouse.up();
    expect(found[0]).toBeGreaterThan(0.99);
    for (let i = 1; i < found.length; ++i) expect(found[i]).toBeLessThan(found[i - 1]!);
    expect(found.at(-1)).toBeLessThan(0.9);
  });

  it('moves by arrow keys, in larger steps with shift', async () => {
    await open('x=0.5,0.5');
    await page.locator('.handle').focus();
    const x = () =>
      page.evaluate(() => (document.querySelector('probust-explorer') as unknown as { state: { x: number[] } }).state.x);
    await page.keyboard.press('ArrowRight');
    const [one, y] = await x();
    expect(one).toBeGreaterThan(0.5);
    expect(y).toBe(0.5);
    await page.keyboard.press('Shift+ArrowUp');
    expect((await x())[1]! - 0.5).toBeCloseTo(5 * (one! - 0.5), 2);
  });

  it('moves by touch', async () => {
    const phone = await browser.newContext({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    const touched = await phone.newPage();
    await touched.goto(`${server.url}/index.html`);
    await touched.waitForSelector('[data-p]');
    const before = await touched.locator('[data-p]').getAttribute('data-p');
    const box = (await touched.locator('probust-plane-picture').boundingBox())!;
    await touched.touchscreen.tap(box.x + 0.8 * box.width, box.y + 0.3 * box.height);
    await touched.waitForFunction((old) => {
      const lab = document.querySelector('probust-explorer')!.shadowRoot!.querySelector('probust-plane-lab')!.shadowRoot!;
      return lab.querySelector('[data-p]')!.getAttribute('data-p') !== old;
    }, before);
    expect(await touched.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    await phone.close();
  });
});

describe('another network', () => {
  it('computes p for a point that was moved while it loaded', async () => {
    await open();
    await settled();
    const body = readFileSync(new URL('../models/six.onnx', import.meta.url));
    await page.route('**/slow.onnx', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await route.fulfill({ body });
    });
    const loaded = page.waitForResponse('**/slow.onnx'); // before it is asked for: a busy machine may press the key later
    await page.evaluate(() => Object.assign(document.querySelector('probust-explorer')!, { state: { model: 'slow.onnx' } }));
    await page.locator('.handle').press('Shift+ArrowRight');
    await loaded;
    await page.waitForTimeout(500);
    const { p, mass } = await settled();
    expect(Math.abs(mass - (1 - p))).toBeLessThan(0.01);
  });
});

describe('the tint', () => {
  it.each([
    ['three arms', 'x=-0.86,0.06'],
    ['large noise', 'x=0.2,0.1&sigma=1.2'],
    ['small noise, near a boundary', 'x=-0.72,-0.12&sigma=0.03'],
    ['a turned ellipse', 'x=-0.5,0.4&sigma=0.4&ratio=4&angle=35'],
    ['six classes', 'model=six&x=0.1,0.2&sigma=0.5'],
    ['the edge of the picture', 'x=-1.6,0.3&sigma=0.7'],
    ['uniform noise', 'noise=uniform&sigma=0.4'],
    ['Laplace noise', 'noise=laplace&sigma=0.4'],
    ['clipped noise', 'noise=laplace&sigma=0.6&clip=1&x=1,0.3'],
  ])('has the mass 1 - p: %s', async (_, hash) => {
    await open(hash);
    const { p, mass } = await settled();
    expect(Math.abs(mass - (1 - p))).toBeLessThan(0.01);
    expect(mass).toBeGreaterThan(0.01);
  });
});

describe('the noise', () => {
  it('is stretched and turned by the handles on its ring', async () => {
    await open('x=0,0&sigma=0.4&model=six');
    const round = await settled();
    const box = await pictureBox();
    const at = (x: number, y: number): [number, number] => [
      box.x + ((x + 1.6) / 3.2) * box.width,
      box.y + ((1.6 - y) / 3.2) * box.height,
    ];
    // Shorten the short axis, then turn the long axis.
    await page.mouse.move(...at(0, 0.4));
    await page.mouse.down();
    await page.mouse.move(...at(0, 0.15), { steps: 3 });
    await page.mouse.up();
    await page.mouse.move(...at(0.4, 0));
    await page.mouse.down();
    await page.mouse.move(...at(0.28, 0.28), { steps: 5 });
    await page.mouse.up();
    const state = await page.evaluate(
      () => (document.querySelector('probust-explorer') as unknown as { state: Record<string, number> }).state,
    );
    expect(state.ratio).toBeCloseTo(0.4 / 0.15, 1);
    expect(state.angle).toBeCloseTo(45, 0);
    const { p, mass } = await settled();
    expect(p).not.toBeCloseTo(round.p, 2);
    expect(Math.abs(mass - (1 - p))).toBeLessThan(0.01);
  });
});

describe('pairs of points', () => {
  it.each([
    ['Same distance, different p', 0.02, 0.3],
    ['Same p, different distance', 0.4, 0.02],
  ])('%s', async (name, distances, shares) => {
    await open();
    const found: { p: number; distance: number }[] = [];
    for (const point of ['point 1', 'point 2']) {
      await page.getByRole('group', { name }).getByRole('button', { name: point }).click();
      const { p } = await settled();
      found.push({ p, distance: Number(await page.locator('[data-distance]').getAttribute('data-distance')) });
    }
    const [one, two] = found as [(typeof found)[0], (typeof found)[0]];
    const same = name.startsWith('Same p');
    const apart = { p: Math.abs(one.p - two.p), distance: Math.abs(one.distance - two.distance) };
    if (same) {
      expect(apart.p).toBeLessThan(shares);
      expect(Math.max(one.distance, two.distance) / Math.min(one.distance, two.distance)).toBeGreaterThan(1 / distances);
    } else {
      expect(apart.distance).toBeLessThan(distances);
      expect(apart.p).toBeGreaterThan(shares);
    }
  });
});

describe('files', () => {
  const saved = async (name: string | RegExp) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
    return { name: download.suggestedFilename(), bytes: readFileSync((await download.path())!) };
  };

  it('contain what is on screen', async () => {
    await open();
    await page.waitForSelector('#convergence svg');
    const csv = await saved('Save p against sigma as CSV');
    const [head, ...rows] = csv.bytes.toString().trim().split('\n');
    expect(csv.name).toBe('probust-curves.csv');
    expect(head).toBe('sigma,estimator,p,pFail,ciLow,ciHigh,forwards,backwards,status,method,note');
    expect(rows.length).toBe(25 * 9);
    expect(rows.every((row) => Number(row.split(',')[2]) <= 1)).toBe(true);

    const svg = (await saved('Save p against sigma as SVG')).bytes.toString();
    expect(svg).toMatch(/^<svg[^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    expect(svg).not.toContain('var(');
    expect(svg.match(/<path/g)!.length).toBeGreaterThan(8);

    const png = await saved('Save picture');
    expect(png.bytes.subarray(1, 4).toString()).toBe('PNG');
    expect(png.bytes.length).toBeGreaterThan(20_000);
  });
});

describe('training', () => {
  it('separates the moons', async () => {
    await open();
    await page.getByRole('button', { name: 'Train on moons' }).click();
    const accuracy = async () =>
      Number(/accuracy (\d+)%/.exec((await page.locator('[data-epoch]').textContent())!.replace(/\s+/g, ' '))?.[1]);
    await expect.poll(accuracy, { timeout: 30_000 }).toBeGreaterThanOrEqual(98);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Play' }).waitFor();
    // Training has stopped, and everything on screen belongs to the last network.
    const epoch = await page.locator('[data-epoch]').getAttribute('data-epoch');
    const { p, mass } = await settled();
    expect(await page.locator('[data-epoch]').getAttribute('data-epoch')).toBe(epoch);
    expect(Math.abs(mass - (1 - p))).toBeLessThan(0.01);
  });

  it('gives a shared state the same weights again', async () => {
    const hash = 'model=trained&data=blobs&classes=4&hidden=8,8&epochs=25&x=0.3,0.4';
    await open(hash);
    const first = await settled();
    await open(hash);
    expect(await settled()).toEqual(first);
    await open(hash.replace('epochs=25', 'epochs=1'));
    expect((await settled()).p).not.toBeCloseTo(first.p, 3);
  });

  it('starts again with another network', async () => {
    await open('model=trained&data=blobs&hidden=8&epochs=30&x=0.3,0.4');
    const trained = await settled();
    await page.getByLabel('Activation').selectOption('gelu');
    await expect.poll(() => page.locator('[data-epoch]').textContent()).toMatch(/epoch\s+0,/);
    expect((await settled()).p).not.toBeCloseTo(trained.p, 3);
    await page.getByRole('button', { name: 'Step' }).click();
    await expect.poll(() => page.locator('[data-epoch]').textContent()).toMatch(/epoch\s+1,/);
    // Smoothness, in contrast, changes while the network is trained.
    await page.getByRole('button', { name: 'Play' }).click();
    await expect.poll(async () => Number(await page.locator('[data-epoch]').getAttribute('data-epoch'))).toBeGreaterThan(5);
    await page.getByLabel('Smoothness').fill('150');
    const epoch = Number(await page.locator('[data-epoch]').getAttribute('data-epoch'));
    await expect.poll(async () => Number(await page.locator('[data-epoch]').getAttribute('data-epoch'))).toBeGreaterThan(epoch);
    await page.getByRole('button', { name: 'Pause' }).click();
  });

  it('trains on points that the user adds', async () => {
    await open();
    await page.getByRole('button', { name: 'Train on your own points' }).click();
    for (const [name, side] of [
      ['A', 0.25],
      ['B', 0.75],
    ] as const) {
      const choice = page.getByRole('group', { name: 'Class of new points' }).getByRole('button', { name, exact: true });
      if ((await choice.getAttribute('aria-pressed')) !== 'true') await choice.click();
      const box = await pictureBox();
      for (let i = 0; i < 4; ++i) await page.mouse.click(box.x + side * box.width, box.y + (0.2 + 0.2 * i) * box.height);
    }
    await page.getByRole('button', { name: /^(Play|Train)$/ }).click();
    await expect.poll(async () => page.locator('[data-epoch]').textContent(), { timeout: 30_000 }).toContain('100%');
    await page.getByRole('button', { name: 'Pause' }).click();
  });
});

describe('the address', () => {
  it('restores the state', async () => {
    const hash = 'x=0.4,-0.3&sigma=0.45&ratio=3&angle=20&model=six&failure=1';
    await open(hash);
    const first = await settled();
    await page.locator('.handle').press('ArrowLeft');
    await page.waitForFunction(() => location.hash.includes('x=0.379'));
    const shared = await page.evaluate(() => location.href);
    const second = await settled();
    expect(second.p).not.toBe(first.p);
    await page.goto('about:blank');
    await page.goto(shared);
    await page.waitForSelector('[data-p]');
    expect(await settled()).toEqual(second);
    expect(await page.locator('[role=tab][aria-selected=true]').textContent()).toContain('2-D');
  });

  it('ignores invalid values', async () => {
    await open('x=a,b&sigma=-4&model=three&panels=,,&hidden=1e9&%%%');
    expect((await settled()).p).toBeGreaterThan(0);
  });
});

describe('hovering', () => {
  it('highlights a rival everywhere, and describes an estimator', async () => {
    await open();
    await settled();
    await page.getByRole('button', { name: 'Highlight the lines of B' }).focus();
    await expect.poll(() => page.locator('table.rivals tr.hovered').textContent()).toContain('B');
    const lit = () =>
      page
        .locator('#correlation rect')
        .evaluateAll(
          (cells) =>
            cells.filter(
              (cell) => getComputedStyle(cell).stroke !== 'none' && !/rgba?\(.*, 0\)/.test(getComputedStyle(cell).stroke),
            ).length,
        );
    expect(await lit()).toBeGreaterThan(0);
    const canvas = page.locator('probust-plane-picture canvas');
    const before = await canvas.screenshot();
    await page.getByRole('button', { name: /^taylor:/ }).focus();
    await expect.poll(() => page.locator('.legend').textContent()).toContain('linear boundaries');
    expect((await canvas.screenshot()).equals(before)).toBe(false);
  });

  it('lists the requested estimators', async () => {
    await open('seed=3');
    await settled();
    const listed = () =>
      page.locator('.estimators li').evaluateAll((items) => items.map((item) => item.getAttribute('data-form')));
    const usual = await listed();
    const choose = async (text: string) => {
      await page.locator('input[name=estimators]').fill(text);
      await page.keyboard.press('Enter');
    };
    await page.getByText('Choose estimators').click();
    await choose('taylor, mc:50');
    await expect.poll(listed).toEqual(['taylor', 'mc:50']);
    await expect.poll(() => page.url()).toContain('estimators=taylor,mc:50');
    await choose('taylor, tailor');
    await expect.poll(() => page.locator('[role=alert]').textContent()).toContain('tailor');
    await choose('');
    await expect.poll(listed).toEqual(usual);
    await expect.poll(() => page.locator('[role=alert]').count()).toBe(0);
  });

  it('switches between labs by arrow keys', async () => {
    await open();
    await page.getByRole('tab', { name: '2-D lab' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.waitForSelector('probust-image-lab');
    expect(await page.locator('[role=tab][aria-selected=true]').textContent()).toContain('Image');
    await page.keyboard.press('ArrowLeft');
    await page.waitForSelector('[data-p]');
  });
});

describe('accessibility', () => {
  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 360],
  ] as const)('axe finds no serious violation: %s, %i px', async (colorScheme, width) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await open();
    await settled();
    await page.waitForSelector('#convergence svg');
    await page.waitForTimeout(400);
    expect(await seriousViolations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  });

  it('fits all widths', async () => {
    await open();
    await settled();
    for (const width of [320, 480, 700, 860, 900, 1000, 1200]) {
      await page.setViewportSize({ width, height: 800 });
      await page.waitForTimeout(100);
      const wide = await page.evaluate(() => {
        const lab = document.querySelector('probust-explorer')!.shadowRoot!.querySelector('probust-plane-lab')!.shadowRoot!;
        const edge = document.documentElement.clientWidth;
        const scrolled = (element: Element) => element.closest('.estimators') !== null;
        return [...lab.querySelectorAll('*')]
          .filter((element) => !scrolled(element) && element.getBoundingClientRect().right > edge + 1)
          .map((element) => element.outerHTML.slice(0, 80));
      });
      expect(wide, `${width} px`).toEqual([]);
    }
  });

  it('speaks p after a pause without changes', async () => {
    await open();
    const { p } = await settled();
    await expect.poll(() => page.locator('probust-plane-lab [role=status]').textContent()).toContain(`${(100 * p).toFixed(1)}%`);
  });
});

/** The slowdown caused by other processes. The limits are for an otherwise idle system. */
const slack = () => Math.max(1, loadavg()[0]! / cpus().length);

/** A page with a worker that only replies, which measures the least time that a browser needs at present. */
function emptyPage(): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'probust-empty-'));
  writeFileSync(join(folder, 'worker.js'), 'postMessage(1);');
  const script = `new Worker('worker.js', { type: 'module' }).onmessage = () => (document.body.dataset.p = '1');`;
  writeFileSync(join(folder, 'index.html'), `<!doctype html><body><script type="module">${script}</script>`);
  return serve(folder);
}

async function timeOf(url: string, context: BrowserContext): Promise<number> {
  const visitor = await context.newPage();
  await visitor.goto(`${url}/index.html`);
  await visitor.waitForSelector('[data-p]', { state: 'attached' });
  const time = await visitor.evaluate(() => performance.now());
  await visitor.close();
  return time;
}

// Other tests and builds may run at the same time, so the best of three attempts counts.
describe('speed', { retry: 2 }, () => {
  it('shows p within a second, and transfers less than 450 kB', async () => {
    const own = await serve(dist);
    const empty = await emptyPage();
    const times = [];
    const least = [];
    for (let run = 0; run < 3; ++run) {
      const fresh = await browser.newContext();
      least.push(await timeOf(empty.url, fresh));
      const visitor = await fresh.newPage();
      await visitor.goto(`${own.url}/index.html`);
      await visitor.waitForSelector('[data-p]');
      times.push(await visitor.evaluate(() => performance.now()));
      if (run === 0) {
        await visitor.waitForSelector('#curves svg');
        console.log(
          'transfer',
          own.sent(),
          own.files().filter((file) => !/ \d{1,4}$/.test(file)),
        );
        expect(own.sent()).toBeLessThan(450_000);
      }
      await fresh.close();
    }
    own.close();
    empty.close();
    console.log('first p after', times.map(Math.round), 'ms, an empty page with a worker after', least.map(Math.round));
    expect(Math.min(...times)).toBeLessThan(Math.max(1000, 6 * Math.min(...least)));
  });

  it('follows a drag within a frame', async () => {
    await open();
    await settled();
    await page.waitForTimeout(2000);
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Performance.enable');
    /** Seconds of processor time of the page's thread. Other processes make it slower, but their own time is not included. */
    const spent = async () => (await cdp.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'ThreadTime')!.value;
    const before = await spent();
    const turns = 120;
    const found = await page.evaluate(
      async ({ x, y, width, turns }) => {
        const lab = document.querySelector('probust-explorer')!.shadowRoot!.querySelector('probust-plane-lab')!;
        const picture = lab.shadowRoot!.querySelector('probust-plane-picture')!;
        const frames: number[] = [];
        let answers = 0;
        document.addEventListener('result', () => ++answers);
        let last = await new Promise<number>(requestAnimationFrame);
        for (let i = 0; i < turns; ++i) {
          const clientX = x + width * (0.3 + 0.2 * Math.cos(i / 15));
          const clientY = y + width * (0.5 + 0.2 * Math.sin(i / 15));
          picture.dispatchEvent(new PointerEvent('pointermove', { clientX, clientY, buttons: 1, pointerId: 1 }));
          const now = await new Promise<number>(requestAnimationFrame);
          frames.push(now - last);
          last = now;
        }
        return { frame: frames.sort((a, b) => a - b)[turns >> 1]!, answers };
      },
      { ...(await pictureBox()), turns },
    );
    const work = (1000 * ((await spent()) - before)) / turns;
    console.log('dragging:', { work, ...found });
    expect(work).toBeLessThan(16 * slack());
    expect(found.frame).toBeLessThan(20 * slack());
    // p follows the point while it moves, rather than waiting until it stops.
    expect(found.answers).toBeGreaterThan(turns / 4);
  });
});
