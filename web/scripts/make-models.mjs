// SPDX-License-Identifier: MIT
// Makes the pretrained networks of the 2-D lab, in models/: node scripts/make-models.mjs. The package makes the data, trains and
// writes the files, all deterministically, so the files are always the same.
import { writeFileSync } from 'node:fs';
import './link.mjs';

const { createProbust } = await import('probust');

const networks = [
  { name: 'three', data: 'spirals', classes: 3, hidden: [16, 16], activation: 'tanh', epochs: 200, sigma: 0.1, lambda: 0.002 },
  { name: 'moons', data: 'moons', classes: 2, hidden: [16, 16], activation: 'relu', epochs: 120, sigma: 0.05, lambda: 0 },
  { name: 'six', data: 'blobs', classes: 6, hidden: [16], activation: 'gelu', epochs: 120, sigma: 0.1, lambda: 0.001 },
];

const probust = await createProbust();
for (const { name, data, classes, epochs, ...options } of networks) {
  const choice = data === 'moons' ? {} : { classes };
  const points = await probust.data[data]({ count: 300, seed: 0, ...choice });
  const training = await probust.train(points, { rate: 0.01, seed: 0, ...options });
  const { loss, accuracy } = await training.run(epochs);
  const bytes = await training.save();
  writeFileSync(new URL(`../models/${name}.onnx`, import.meta.url), bytes);
  console.log(`${name}: ${bytes.length} bytes, loss ${loss.toFixed(3)}, accuracy ${accuracy.toFixed(3)}`);
}
probust.dispose();
