// SPDX-License-Identifier: MIT
// Only one component estimates. The others show its rows, or the point that is selected in the gallery.
import { createProbust } from "/npm/probust.mjs";

const element = (id) => document.getElementById(id);
const probust = await createProbust();
const points = await probust.data.digits({ count: 64, side: 16, seed: 3 });
probust.dispose();
const pixels = 16 * 16;

const show = (index) => {
  const x = points.x.slice(index * pixels, (index + 1) * pixels);
  for (const id of ["one", "curve", "estimators"])
    element(id).points = { x, index };
};

element("all").points = points;
element("all").addEventListener("probust-rows", ({ detail: { rows } }) => {
  Object.assign(element("classes"), { rows });
  Object.assign(element("gallery"), { rows, points });
  show(rows.reduce((least, row) => (row.p < least.p ? row : least)).index);
});
element("gallery").addEventListener("probust-select", ({ detail: { row } }) =>
  show(row.index),
);
