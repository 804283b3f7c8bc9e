// SPDX-License-Identifier: MIT
// Random forests (Breiman, Random Forests, 2001): trees on bootstrap samples. Each split is on one of a few random columns: the
// one that reduces the squared error most. For one-hot classes as targets, that error is Gini's impurity.

// A generator that produces the same numbers on every machine (Steele, Lea and Flood, SplitMix, with 32 bits).
export function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return ((z ^ (z >>> 16)) >>> 0) / 2 ** 32;
  };
}

const meanOf = (targets) => targets[0].map((_, k) => targets.reduce((sum, target) => sum + target[k], 0) / targets.length);

function squaredError(targets) {
  const mean = meanOf(targets);
  return targets.reduce((sum, target) => sum + target.reduce((own, value, k) => own + (value - mean[k]) ** 2, 0), 0);
}

function shuffled(count, random) {
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; --i) {
    const j = Math.floor((i + 1) * random());
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

// Thresholds lie halfway between two values, and are float32 numbers, as in the model.
function bestSplit(rows, columns, leaf) {
  let best;
  for (const column of columns) {
    const values = [...new Set(rows.map(({ x }) => x[column]))].sort((a, b) => a - b);
    for (let i = 1; i < values.length; ++i) {
      const threshold = Math.fround((values[i - 1] + values[i]) / 2);
      const low = rows.filter(({ x }) => x[column] <= threshold);
      const high = rows.filter(({ x }) => x[column] > threshold);
      if (Math.min(low.length, high.length) < leaf) continue;
      const error = squaredError(low.map(({ y }) => y)) + squaredError(high.map(({ y }) => y));
      if (!best || error < best.error - 1e-9) best = { column, threshold, low, high, error };
    }
  }
  return best;
}

function grown(rows, options, depth) {
  const targets = rows.map(({ y }) => y);
  const { random, tried, leaf } = options;
  const order = shuffled(rows[0].x.length, random);
  const error = squaredError(targets);
  const split = depth > 0 && error > 1e-9 ? bestSplit(rows, order.slice(0, tried), leaf) : undefined;
  if (!split || split.error > error - 1e-9) return { value: meanOf(targets) };
  const { column, threshold, low, high } = split;
  return { column, threshold, low: grown(low, options, depth - 1), high: grown(high, options, depth - 1) };
}

// x: rows of numbers; y: rows of targets. `tried`: the number of columns tried for each split; `leaf`: the smallest number of
// rows in a leaf.
export function forestOf(x, y, { trees, depth, tried, leaf = 1, seed }) {
  const random = randomOf(seed);
  const rows = x.map((row, i) => ({ x: row.map(Math.fround), y: y[i] }));
  return Array.from({ length: trees }, () => {
    const drawn = rows.map(() => rows[Math.floor(rows.length * random())]);
    return grown(drawn, { random, tried, leaf }, depth);
  });
}

function leafOf(tree, x) {
  let node = tree;
  while (node.value === undefined) node = x[node.column] <= node.threshold ? node.low : node.high;
  return node.value;
}

export const forestAnswer = (forest, x) => meanOf(forest.map((tree) => leafOf(tree, x.map(Math.fround))));
