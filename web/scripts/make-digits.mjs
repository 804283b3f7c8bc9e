// SPDX-License-Identifier: MIT
// Makes the digits classifier of the image lab, models/digits.onnx: node scripts/make-digits.mjs. The package makes the digits,
// trains and writes the file, all deterministically, so the file is always the same.
import { writeFileSync } from 'node:fs';
import './link.mjs';

const { createProbust } = await import('probust');

const probust = await createProbust();
const training = await probust.train(await probust.data.digits({ count: 20_000, seed: 0 }), {
  hidden: [32],
  activation: 'gelu',
  sigma: 0.15,
  seed: 0,
});
await training.run(8, { rate: 0.003 });
const { loss, accuracy } = await training.run(4, { rate: 0.0005 });
const bytes = await training.save();
writeFileSync(new URL('../models/digits.onnx', import.meta.url), bytes);

// Digits of another seed, which are not in the training data.
const unseen = await probust.data.digits({ count: 1000, seed: 1 });
const model = await training.model();
const rows = await model.estimate(unseen.x, { noise: 'gaussian:0.1', estimators: 'softmax:1' });
const right = rows.filter(({ predicted }, i) => predicted === unseen.labels[i]).length / rows.length;
console.log(
  `digits: ${bytes.length} bytes, loss ${loss.toFixed(3)}, accuracy ${accuracy.toFixed(3)}, unseen ${right.toFixed(3)}`,
);
probust.dispose();
