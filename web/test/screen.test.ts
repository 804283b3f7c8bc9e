// SPDX-License-Identifier: MIT
// Tests what the page shows, and that its numbers agree with each other.
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { dist, launch, problemsOf, serveStrictly, type Server } from './server.js';

let browser: Browser;
let server: Server;
let page: Page;
let problems: string[];

beforeAll(async () => {
  [browser, server] = await Promise.all([launch(), serveStrictly(dist)]);
  page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' });
  problems = problemsOf(page);
});
afterAll(async () => {
  await browser?.close();
  server?.close();
});
// The page preloads the other lab's script, which may not be used. Also, Chromium warns about the tests' reading of pixels.
const harmless = /preloaded using link preload|Multiple readback operations/;
afterEach(() => expect(problems.splice(0).filter((each) => !harmless.test(each))).toEqual([]));

/** Opens a new page, and waits until everything on screen belongs to the state. */
async function open(hash = ''): Promise<void> {
  await page.goto('about:blank');
  await page.goto(`${server.url}/index.html#more=1&${hash}`);
  await settled();
}

const until = (condition: () => boolean) => expect.poll(() => page.evaluate(condition), { timeout: 15_000 }).toBe(true);

async function settled(): Promise<void> {
  await page.waitForTimeout(60);
  await until(() => {
    const lab = document.querySelector('probust-explorer')!.shadowRoot!.querySelector('#lab > *')?.shadowRoot;
    return !!lab?.querySelector('.estimators') && !!lab.querySelector('#curves svg') && !lab.querySelector('.stale');
  });
}

describe('a strict content security policy', () => {
  it('allows dots at the positions of their values', async () => {
    await open();
    const off = await page.evaluate(() => {
      const lab = document.querySelector('probust-explorer')!.shadowRoot!.querySelector('probust-plane-lab')!.shadowRoot!;
      const middle = (element: Element) => {
        const { left, width } = element.getBoundingClientRect();
        return left + width / 2;
      };
      const rows = [...lab.querySelectorAll<HTMLElement>('.estimators li')].map((row) => ({
        value: Number(row.dataset.value),
        at: middle(row.querySelector('.dot')!),
        truth: middle(row.querySelector('.truth')!),
      }));
      const truth = Number(lab.querySelector('[data-p]')!.getAttribute('data-p'));
      const far = rows.reduce((a, b) => (Math.abs(b.value - truth) > Math.abs(a.value - truth) ? b : a));
      const scale = (far.at - far.truth) / (far.value - truth);
      return { scale, off: Math.max(...rows.map((row) => Math.abs(row.at - row.truth - scale * (row.value - truth)))) };
    });
    expect(off.scale).toBeGreaterThan(100);
    expect(off.off).toBeLessThan(2);
  });

  it('allows the image lab to paint and save its pictures', async () => {
    await open('lab=image');
    const colours = () =>
      page.locator('#boundary probust-pixels canvas').evaluateAll((all) =>
        all.map((canvas) => {
          const { width, height } = canvas as HTMLCanvasElement;
          const { data } = (canvas as HTMLCanvasElement).getContext('2d')!.getImageData(0, 0, width, height);
          return new Set(new Uint32Array(data.buffer)).size;
        }),
      );
    await expect.poll(async () => Math.min(...(await colours()), 1e9)).toBeGreaterThan(10);
    const save = page.getByRole('button', { name: 'Save A slice through the image as SVG' });
    const [download] = await Promise.all([page.waitForEvent('download'), save.click()]);
    const svg = readFileSync((await download.path())!, 'utf8');
    expect(svg).toMatch(/<image [^>]*href="data:image\/png/);
    expect(svg).not.toContain('foreignObject');
  });
});

/** The text of the first element in the lab that matches. */
const text = async (selector: string): Promise<string> => (await page.locator(selector).first().textContent())!.trim();

describe('numbers', () => {
  it.each([
    ['p in the middle', ''],
    ['p near a half of the last digit', 'model=six&x=0.1,0.2&sigma=0.5'],
    ['p close to 1', 'sigma=0.05'],
    ['p very close to 1', 'model=moons&x=0,1.2&sigma=0.15'],
  ])('agree: %s', async (_, hash) => {
    await open(hash);
    await page.locator('#counting svg').waitFor();
    const [p, failure, counted] = [await text('.big'), await text('.mass b'), await text('#counting text.strong >> nth=-1')];
    expect(counted).toBe(failure);
    expect(await text('.boundary b >> nth=1')).toBe(p);
    if (p.startsWith('>')) expect(parseFloat(failure)).toBeLessThan(1e-4);
    else expect(parseFloat(p) + parseFloat(failure)).toBeCloseTo(100, 6);
  });

  it('are the same while the point moves and when it rests', async () => {
    await open();
    const rest = await text('.big');
    await page.evaluate(() => {
      const explorer = document.querySelector('probust-explorer') as unknown as {
        state: { x: number[] };
        shadowRoot: ShadowRoot;
      };
      const { x } = explorer.state;
      explorer.state = { x: [0, 0] };
      explorer.state = { x };
      const found: string[] = [];
      Object.assign(globalThis, { found });
      const lab = explorer.shadowRoot.querySelector('probust-plane-lab')!.shadowRoot!;
      const look = () => {
        const big = lab.querySelector('.big:not(.stale)');
        if (big && found.at(-1) !== big.textContent) found.push(big.textContent!);
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
    await page.waitForTimeout(800);
    expect(await page.evaluate(() => (globalThis as unknown as { found: string[] }).found)).toEqual([rest]);
  });
});

const change = (patch: object) =>
  page.evaluate((patch) => Object.assign(document.querySelector('probust-explorer')!, { state: patch }), patch);
const alerts = () => page.locator('[role=alert]').allTextContents();

const state = (key: string) =>
  page.evaluate(
    (key) => (document.querySelector('probust-explorer') as unknown as { state: Record<string, unknown> }).state[key],
    key,
  );

/** Makes requests for these files fail, which the browser logs. */
async function offline(files: RegExp, work: () => Promise<void>): Promise<void> {
  await page.route(files, (route) => route.abort());
  await work();
  await page.unroute(files);
  problems.splice(0);
}

describe('an error', () => {
  it('is shown once, as a sentence, and only while it lasts', async () => {
    await open();
    await change({ estimators: ['tailor'] });
    await expect.poll(alerts).toEqual([expect.stringContaining('tailor') as string]);
    expect(await page.locator('[role=status]').allTextContents()).not.toContainEqual(expect.stringContaining('tailor'));
    await change({ estimators: ['taylor'] });
    await expect.poll(alerts).toEqual([]);

    const { url } = server;
    await offline(/nowhere/, async () => {
      await change({ model: `${url}/nowhere.onnx` });
      await expect.poll(alerts).toEqual([expect.stringMatching(/nowhere.onnx cannot be fetched. Check the address/) as string]);
    });
    await change({ model: 'six' });
    await expect.poll(alerts).toEqual([]);
  });

  it('does not replace the current lab if another one cannot be loaded', async () => {
    await page.goto('about:blank');
    await page.goto(`${server.url}/index.html`);
    await page.locator('[data-p]').waitFor();
    await offline(/image-lab/, async () => {
      await page.getByRole('tab', { name: 'Image lab' }).click();
      await expect.poll(alerts).toEqual(['The Image lab cannot be loaded. Check your connection, then choose its tab again.']);
    });
    expect(await text('[role=tab][aria-selected=true]')).toBe('2-D lab');
    expect(await page.locator('probust-plane-lab').count()).toBe(1);
    await page.getByRole('tab', { name: 'Image lab' }).click();
    await settled();
    expect(await alerts()).toEqual([]);
  });

  it('about a link to a model file does not replace the picture', async () => {
    await page.goto('about:blank');
    await page.goto(`${server.url}/index.html#lab=image&imageModel=own&imageDigit=3`);
    await expect.poll(alerts).toEqual([expect.stringMatching(/Drop that ONNX file here/) as string]);
    const bright = () =>
      page.locator('probust-paper canvas').evaluate((canvas) => {
        const { data } = (canvas as HTMLCanvasElement).getContext('2d')!.getImageData(0, 0, 28, 28);
        return data.filter((value, i) => i % 4 === 0 && value > 128).length;
      });
    await expect.poll(bright).toBeGreaterThan(20);
  });
});

/** The picture in the 2-D lab. */
const painted = () =>
  page.locator('probust-plane-picture canvas').evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());

describe('the picture', () => {
  it('shows the data of a network that a page chooses', async () => {
    await open('model=six&show=data&x=0.1,0.2');
    await settled();
    await page.waitForTimeout(300);
    const expected = await painted();
    await open('show=data&x=0.1,0.2');
    await page.waitForTimeout(300);
    await change({ model: 'six' });
    await expect.poll(painted).toBe(expected);
  });

  it('comes into view when a pair of points is chosen', async () => {
    await open();
    await page.getByRole('group', { name: 'Same p' }).getByRole('button', { name: 'point 1' }).click();
    const { y, height } = (await page.locator('probust-plane-picture').boundingBox())!;
    expect(y).toBeGreaterThanOrEqual(0);
    expect(y + height).toBeLessThanOrEqual(900);
    const pair = page.getByRole('group', { name: 'Points of the pair' });
    await pair.getByRole('button', { name: 'point 2' }).click();
    await expect.poll(() => page.locator('.handle').getAttribute('aria-label')).toContain('-0.78, -0.12');
    await page.getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => pair.count()).toBe(0);
  });

  it('says where a point outside it is', async () => {
    await open('x=3,0.4');
    const box = (await page.locator('probust-plane-picture').boundingBox())!;
    const mark = (await page.locator('.handle.outside i').boundingBox())!;
    expect(mark.x).toBeGreaterThan(box.x + 0.9 * box.width);
    expect(mark.x + mark.width).toBeLessThanOrEqual(box.x + box.width);
    expect((mark.y + mark.height / 2 - box.y) / box.height).toBeCloseTo((1.6 - 0.4) / 3.2, 2);
    expect(await page.locator('.handle').getAttribute('aria-label')).toContain('outside the picture');
    await page.locator('.handle').press('ArrowLeft');
    await expect.poll(() => page.locator('.handle.outside').count()).toBe(0);
  });

  it('has no line across the name of a region', async () => {
    await open();
    const order = await page.evaluate(async () => {
      const found: string[] = [];
      const drawing = CanvasRenderingContext2D.prototype;
      const { stroke, fillText } = drawing;
      drawing.stroke = function (this: CanvasRenderingContext2D, ...path: [Path2D]) {
        if (this.lineWidth === 2.25) found.push('line');
        stroke.apply(this, path);
      } as typeof stroke;
      drawing.fillText = function (this: CanvasRenderingContext2D, ...given) {
        if (this.font.includes('17px')) found.push('name');
        fillText.apply(this, given);
      };
      Object.assign(document.querySelector('probust-explorer')!, { state: { x: [-0.8, 0.1], show: ['lines'] } });
      await new Promise((resolve) => setTimeout(resolve, 300));
      Object.assign(drawing, { stroke, fillText });
      return found;
    });
    expect([order[0], order.at(-1)]).toEqual(['line', 'name']);
  });
});

describe('words', () => {
  it('name each number in one way, with its unit', async () => {
    await open();
    await page.locator('#counting svg').waitFor();
    expect(await page.getByTestId('p').textContent()).toBe(await text('.big'));
    const softmax = (await page.locator('[data-form^=softmax] button').getAttribute('aria-label'))!;
    expect(softmax).toContain('confidence, not an estimate of p');
    expect(softmax).toMatch(/cost 1 pass\./);
    expect(softmax).not.toContain('approximation');
    expect(await text('[data-form=taylor_mvs] .name')).toBe('taylor_mvs');
    expect(await page.locator('#counting svg').textContent()).toContain('taylor_mvs');
    expect(await text('#curves .label')).toBe('sigma, in units of the data');
    await open('lab=image');
    expect(await page.getByTestId('p').textContent()).toBe(await text('.big'));
    expect(await text('#curves .label')).toBe('sigma, in shares of the pixel range');
  });
});

describe('back and forward', () => {
  const states = async () => [await state('lab'), await state('model'), await state('sigma')];

  it('go to labs and networks that were chosen before', async () => {
    await open();
    await change({ sigma: 0.3 });
    await page.getByRole('button', { name: 'six clouds' }).click();
    await change({ sigma: 0.4 });
    await page.getByRole('tab', { name: 'Image lab' }).click();
    await page.locator('probust-image-lab').waitFor();
    const seen = [await states()];
    for (const direction of ['back', 'back', 'forward', 'forward']) {
      await page.evaluate((direction) => (history as unknown as Record<string, () => void>)[direction]!(), direction);
      await page.waitForTimeout(350);
      seen.push(await states());
    }
    const [three, six, image] = [
      ['plane', 'three', 0.3],
      ['plane', 'six', 0.4],
      ['image', 'six', 0.4],
    ];
    expect(seen).toEqual([image, six, three, six, image]);
  });
});

describe('new noise', () => {
  it.each([
    ['2-D', '', '[data-form="mc:25"]'],
    ['image', 'lab=image&imageSigma=0.5', '[data-form="mmse:20"]'],
  ])('is drawn in the %s lab', async (_, hash, row) => {
    await open(hash);
    const values = () => page.locator(row).getAttribute('data-value');
    const before = await values();
    await page.getByRole('button', { name: 'new noise' }).click();
    await settled();
    expect(await values()).not.toBe(before);
  });
});

describe('a wrong prediction', () => {
  it('is shown with the true label, p(correct), and names of classes', async () => {
    await open('lab=image&imageDigit=5');
    expect(await page.locator('[data-correct]').count()).toBe(0);
    await change({ imageVariant: 7 });
    await settled();
    const correct = page.locator('[data-correct]');
    expect((await correct.textContent())!.replace(/\s+/g, ' ')).toMatch(
      /The prediction is wrong: this is 5. p\(correct\) is [\d.]+%/,
    );
    expect(await correct.getAttribute('data-correct')).toBe(await page.locator('[data-of="5"]').getAttribute('data-share'));
    await page.getByLabel('Class names').fill('zero, one, two, three, four, five');
    await page.keyboard.press('Enter');
    await expect.poll(() => correct.textContent()).toContain('five');
    expect(await text('.lead .answer')).toBe('zero');
    expect(await text('#boundary')).toMatch(/zero|one|two|three|four|five/);
    await expect.poll(() => page.url()).toContain('imageNames=zero,one,two,three,four,five');
  });
});

describe('charts', () => {
  const readings = () => page.locator('.reading').allTextContents();

  it('show values at the pointer, and set sigma when they are pressed', async () => {
    await open();
    await page.locator('#convergence .sensor').waitFor();
    await page.locator('#convergence .sensor').hover();
    await expect.poll(async () => (await readings()).join()).toMatch(/mc: [\d.]+ for \d+ passes;/);
    const sensor = page.locator('#curves .sensor');
    await sensor.hover({ position: { x: 100, y: 60 } });
    await expect
      .poll(async () => (await readings())[0]!.replace(/\s+/g, ' '))
      .toMatch(/sigma [\d.]+: true p [\d.]+%.*mc:25 [\d.]+%/);
    const [, sigma, share] = /sigma ([\d.]+): true p ([\d.]+%)/.exec((await readings())[0]!.replace(/\s+/g, ' '))!;
    await sensor.click({ position: { x: 100, y: 60 } });
    await settled();
    expect(await state('sigma')).toBeCloseTo(Number(sigma), 3);
    // The same p for the same sigma.
    expect(await text('.big')).toBe(share);
  });

  it('have axes with labels', async () => {
    await open();
    await page.locator('#convergence svg.chart').waitFor();
    const labels = (id: string) => page.locator(`#${id} .axis .label`).allTextContents();
    expect(await labels('curves')).toEqual(['sigma, in units of the data', 'p']);
    expect(await labels('convergence')).toEqual(['cost, in passes through the network', 'absolute error of p']);
    expect(await labels('counting')).toEqual(['probability that the prediction changes']);
    const written = await page.evaluate(async () => {
      const found = new Set<string>();
      const drawing = CanvasRenderingContext2D.prototype;
      const { fillText } = drawing;
      drawing.fillText = function (this: CanvasRenderingContext2D, ...given) {
        found.add(given[0]);
        fillText.apply(this, given);
      };
      Object.assign(document.querySelector('probust-explorer')!, { state: { show: [] } });
      await new Promise((resolve) => setTimeout(resolve, 200));
      Object.assign(drawing, { fillText });
      return [...found];
    });
    expect(written).toEqual(expect.arrayContaining(['-1', '0', '1', 'x₁', 'x₂']));
    await open('lab=image');
    await page.locator('#plane svg.chart').waitFor();
    expect(await labels('plane')).toEqual(['distance from the image, in shares of the pixel range']);
  });

  it('do the same in the image lab', async () => {
    await open('lab=image');
    await page.locator('#curves .sensor').click({ position: { x: 200, y: 60 } });
    expect(await state('imageSigma')).not.toBe(0.3);
    await expect.poll(async () => (await readings())[0]).toContain('mc:1000, reference');
  });
});

describe('a phone', () => {
  let phone: Page;
  beforeAll(async () => {
    const context = await browser.newContext({ viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true });
    phone = await context.newPage();
    await phone.goto(`${server.url}/index.html`);
    await phone.locator('.estimators li').first().waitFor();
  });
  afterAll(() => phone.context().close());

  const x = () =>
    phone.evaluate(() => (document.querySelector('probust-explorer') as unknown as { state: { x: number[] } }).state.x);
  const scrolled = () => phone.evaluate(() => Math.round(scrollY));
  const middleOf = async (selector: string) => {
    const { x, y, width, height } = (await phone.locator(selector).boundingBox())!;
    return { x: x + width / 2, y: y + height / 2 };
  };

  it('scrolls by a swipe over the picture, and moves the point by a drag', async () => {
    const cdp = await phone.context().newCDPSession(phone);
    const before = await x();
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', touchPoints: { x: number; y: number }[]) =>
      cdp.send('Input.dispatchTouchEvent', { type, touchPoints });
    const swipe = async ({ x, y }: { x: number; y: number }, by: number) => {
      await touch('touchStart', [{ x, y }]);
      for (let part = 1; part <= 6; ++part) await touch('touchMove', [{ x, y: y + (by * part) / 6 }]);
      // Without a pause, the page would continue to scroll.
      await phone.waitForTimeout(200);
      await touch('touchEnd', []);
    };
    const { x: left, y: top } = await middleOf('probust-plane-picture');
    await swipe({ x: left + 60, y: top }, -150);
    await expect.poll(scrolled).toBeGreaterThan(100);
    expect(await x()).toEqual(before);

    const kept = await scrolled();
    await swipe(await middleOf('.handle'), 60);
    await expect.poll(async () => (await x())[1]).toBeLessThan(before[1]! - 0.2);
    expect(await scrolled()).toBe(kept);
  });

  it('keeps p and sigma on screen', async () => {
    for (const selector of ['#curves', '#shape']) {
      await phone.locator(selector).evaluate((element) => element.scrollIntoView());
      for (const shown of ['.compact', '.sigma input']) {
        const { y, height } = (await phone.locator(shown).boundingBox())!;
        expect(y).toBeGreaterThan(0);
        expect(y + height).toBeLessThanOrEqual(640);
      }
    }
    expect((await phone.locator('.big').textContent())!.trim()).toBe(await phone.locator('.compact').textContent());
  });

  it.each([360, 400])('fits rows of estimators into %i px', async (width) => {
    await phone.setViewportSize({ width, height: 640 });
    const wide = await phone.locator('.estimators').evaluate((list) =>
      [list, ...list.querySelectorAll('*')]
        .filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== 'inline')
        .concat([...list.querySelectorAll('*')].filter((each) => each.getBoundingClientRect().right > innerWidth))
        .map((each) => each.outerHTML.slice(0, 80)),
    );
    expect(wide).toEqual([]);
    const lines = await phone
      .locator('.estimators .name')
      .evaluateAll((names) => names.map((each) => each.getBoundingClientRect().top));
    expect(new Set(lines).size).toBe(lines.length);
  });
});
