// SPDX-License-Identifier: MIT
// Draws public/first.svg, the regions of the first network with its point, which is shown before scripts run, and prints the p
// that index.html shows next to it: node scripts/first-picture.mjs
import { readFileSync, writeFileSync } from 'node:fs';
import { contours } from 'd3-contour';
import './link.mjs';

const { createProbust } = await import('probust');

// The same values as in src/state/state.ts, src/labs/plane/models.ts and src/style/theme.ts.
const [x, sigma, reach, size, grid] = [[-0.86, 0.06], 0.25, 1.6, 600, 32];
const colours = ['#0072b2', '#e69f00', '#009e73'];
const pixel = ([a, b]) => [((a + reach) / (2 * reach)) * size, ((reach - b) / (2 * reach)) * size];

const probust = await createProbust();
const model = await probust.loadModel(readFileSync(new URL('../models/three.onnx', import.meta.url)));
const step = (2 * reach) / grid;
const centres = Array.from({ length: grid * grid }, (_, i) => [(i % grid) + 0.5, Math.floor(i / grid) + 0.5]);
const logits = await model.logits(Float32Array.from(centres.flatMap(([i, j]) => [i * step - reach, reach - j * step])));
const classes = colours.length;
const margins = colours.map((_, of) =>
  centres.map((_, i) => {
    const row = logits.subarray(i * classes, (i + 1) * classes);
    return row[of] - Math.max(...row.filter((_, other) => other !== of));
  }),
);
const path = ({ coordinates }) =>
  coordinates
    .flat()
    .map((ring) => `M${ring.map((at) => at.map((each) => Math.round((each * size) / grid)).join(' ')).join('L')}Z`)
    .join('');
const regions = margins.map(
  (margin, of) =>
    `<path d="${path(contours().size([grid, grid]).contour(margin, 0))}" fill="${colours[of]}" fill-opacity="0.2" stroke="#808890" stroke-width="1.5"/>`,
);
const [row] = await model.estimate(x, { noise: `gaussian:${sigma}`, estimators: 'quadrature:256' });
const [cx, cy] = pixel(x).map(Math.round);
const ring = (times) =>
  `<circle cx="${cx}" cy="${cy}" r="${Math.round((times * sigma * size) / (2 * reach))}" fill="none" stroke="#808890" stroke-width="1.5"/>`;
const point = `<circle cx="${cx}" cy="${cy}" r="8" fill="${colours[row.target]}" stroke="#808890" stroke-width="3"/>`;
writeFileSync(
  new URL('../public/first.svg', import.meta.url),
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}">${regions.join('')}${ring(1)}${ring(2)}${point}</svg>\n`,
);
console.log(`p = ${(100 * row.p).toFixed(1)}%, prediction ${'ABC'[row.target]}`);
probust.dispose();
