// SPDX-License-Identifier: MIT
// Creates the tables and models of the table lab from models/tables.json:
//
//   node scripts/make-table-models.mjs           replaces the rows of the tables and the models
//   node scripts/make-table-models.mjs --check   compares with the files; exit status 1 if one differs
//
// Iris is the command line's file. The other table is generated. Forests are trained here, and networks by the package; both are
// the same on every machine. The inputs of the models are standardised columns (minus their mean, divided by their standard
// deviation), and categories as one-hot columns.
import { readFileSync, writeFileSync } from 'node:fs';
import './link.mjs';
import { forestAnswer, forestOf, randomOf } from './tables/forest.mjs';
import { changeModel, classifierModel, regressorModel } from './tables/tree-onnx.mjs';

const { createProbust } = await import('probust');

const check = process.argv.includes('--check');
const models = new URL('../models/', import.meta.url);
const tables = JSON.parse(readFileSync(new URL('tables.json', models), 'utf8'));
let different = 0;

function settle(file, content) {
  const place = new URL(file, models);
  const bytes = Buffer.from(content);
  if (!check) return writeFileSync(place, bytes);
  const same = Buffer.compare(readFileSync(place), bytes) === 0;
  if (!same) different += 1;
  console.log(`${file}: ${same ? 'the same' : 'DIFFERENT'}`);
}

/** The rows of Iris. The lengths in the source are in millimetres. */
function irisRows() {
  const text = readFileSync(new URL('../../native/datasets/fetch/iris.cpp', models), 'utf8');
  const rows = [...text.matchAll(/\{(\d+), (\d+), (\d+), (\d+)\}/g)].map(([, ...values]) =>
    values.map((each) => Number(each) / 10),
  );
  return rows.map((values, i) => ({ values, label: Math.floor(i / 50), output: values[3] }));
}

/** The score of a day: visitors prefer warm, calm and dry days. */
const comfort = (temperature, wind, sky) => (temperature - 20) / 4 - (wind - 15) / 8 + [1, 0, -1.6][sky];

function dayRows(count) {
  const random = randomOf(1936);
  // A sum of twelve uniform numbers is nearly normal and, unlike logarithms, rounds in the same way everywhere.
  const normal = () => Array.from({ length: 12 }, random).reduce((sum, each) => sum + each, -6);
  return Array.from({ length: count }, () => {
    const draw = random();
    const sky = draw < 0.4 ? 0 : draw < 0.75 ? 1 : 2;
    const temperature = Math.round(2 * Math.min(34, Math.max(8, [23.5, 20, 16.5][sky] + 4.5 * normal()))) / 2;
    const wind = Math.round(Math.min(40, Math.max(1, [13, 15, 20][sky] + 7 * normal())));
    const felt = comfort(temperature, wind, sky);
    const score = felt + 0.45 * normal();
    const visitors = Math.max(0, Math.round(130 + 45 * felt + 12 * normal()));
    return { values: [temperature, wind, sky], label: score > 1.2 ? 2 : score > -0.9 ? 1 : 0, output: visitors };
  });
}

/** A row, as an input of the models. */
const encoded = ({ columns }, values, inputs = columns.map((_, i) => i)) =>
  inputs.flatMap((i) => {
    const { mean, std, values: names } = columns[i];
    return names ? names.map((_, k) => (k === values[i] ? 1 : 0)) : [(values[i] - mean) / std];
  });

function csvOf({ columns, classes, regression }, rows) {
  const extra = columns.some(({ name }) => name === regression.output) ? [] : [regression.output];
  const head = [...columns.map(({ name }) => name), ...extra, 'class'];
  const cell = (value, { values }) => (values ? values[value] : value);
  const lines = rows.map(({ values, label, output }) =>
    [...values.map((value, i) => cell(value, columns[i])), ...extra.map(() => output), classes[label]].join(','),
  );
  return [head.join(','), ...lines].join('\n') + '\n';
}

/** Whether a row is for training: two thirds of the rows are, as in Scher and Trügler, section 4.1.1. */
const isTraining = (_, i) => i % 3 !== 2;

const share = (flags) => `${((100 * flags.filter(Boolean).length) / flags.length).toFixed(1)}%`;

function reportForest(file, table, rows, forest, bytes) {
  const right = rows.map(({ values, label }) => {
    const scores = forestAnswer(forest, encoded(table, values));
    return scores.indexOf(Math.max(...scores)) === label;
  });
  console.log(
    `${file}: ${bytes.length} bytes; right: ${share(right.filter(isTraining))} of the training rows, ${share(right.filter((_, i) => !isTraining(_, i)))} of the others`,
  );
}

function makeForest(name, table, rows) {
  const training = rows.filter(isTraining);
  const x = training.map(({ values }) => encoded(table, values));
  const y = training.map(({ label }) => table.classes.map((_, k) => (k === label ? 1 : 0)));
  const forest = forestOf(x, y, { trees: 10, depth: 3, tried: 2, seed: 1 });
  const bytes = classifierModel(forest, x[0].length, table.classes.length);
  reportForest(`${name}-forest.onnx`, table, rows, forest, bytes);
  settle(`${name}-forest.onnx`, bytes);
}

function makeRegression(name, table, rows) {
  const { inputs } = table.regression;
  const training = rows.filter(isTraining);
  const x = training.map(({ values }) => encoded(table, values, inputs));
  const forest = forestOf(
    x,
    training.map(({ output }) => [output]),
    { trees: 10, depth: 4, tried: 2, leaf: 3, seed: 2 },
  );
  const bytes = regressorModel(forest, x[0].length);
  const errors = rows.map(({ values, output }) => Math.abs(forestAnswer(forest, encoded(table, values, inputs))[0] - output));
  const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
  console.log(`${name}-regression.onnx: ${bytes.length} bytes, mean error ${mean.toFixed(3)} ${table.regression.unit}`);
  settle(`${name}-regression.onnx`, bytes);
  settle(`${name}-change.onnx`, changeModel(forest, x[0].length));
}

async function makeNetwork(probust, name, table, rows) {
  const kept = rows.filter(isTraining);
  const x = kept.flatMap(({ values }) => encoded(table, values));
  const labels = kept.map(({ label }) => label);
  const training = await probust.train({ x, labels }, { hidden: [12], activation: 'tanh', sigma: 0.1, seed: 0 });
  const { loss, accuracy } = await training.run(150, { rate: 0.01 });
  const bytes = await training.save();
  training.dispose();
  console.log(
    `${name}-network.onnx: ${bytes.length} bytes, loss ${loss.toFixed(3)}, right: ${(100 * accuracy).toFixed(1)}% of the training rows`,
  );
  settle(`${name}-network.onnx`, bytes);
}

function describe(name, { columns }, rows) {
  columns.forEach(({ name: column, values }, j) => {
    if (values) return;
    const all = rows.map((row) => row.values[j]);
    const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
    const std = Math.sqrt(all.reduce((sum, value) => sum + (value - mean) ** 2, 0) / all.length);
    console.log(`${name}, ${column}: mean ${mean.toFixed(3)}, standard deviation ${std.toFixed(3)}`);
  });
}

const probust = await createProbust();
for (const [name, rows] of Object.entries({ iris: irisRows(), days: dayRows(150) })) {
  const table = tables[name];
  describe(name, table, rows);
  settle(`${name}.csv`, csvOf(table, rows));
  makeForest(name, table, rows);
  makeRegression(name, table, rows);
  await makeNetwork(probust, name, table, rows);
}
probust.dispose();
process.exitCode = different > 0 ? 1 : 0;
