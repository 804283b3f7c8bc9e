// SPDX-License-Identifier: MIT
// Builds the scene from the state, the results of requests and the hovered items.
import type { Linearization } from 'probust';
import type { Cached } from '../../draw/cached.js';
import { letter, rivalOf } from '../../draw/classes.js';
import type { Copies } from '../../draw/cloud.js';
import { classAt, type Field } from '../../draw/field.js';
import { linesOf, type Line } from '../../draw/lines.js';
import type { Palette } from '../../draw/palette.js';
import { paintTint, type Tint } from '../../draw/tint.js';
import { isInside, type Pair } from '../../draw/view.js';
import type { Layer, State } from '../../state/state.js';
import type { Answers } from '../lab-session.js';
import { cloudCount, samplesOf, type Quick } from './answers.js';
import type { Scene } from './layers.js';
import { view } from './models.js';
import { spreadOf } from './noise.js';
import { presets } from './presets.js';
import type { PlaneSession, PlaneValues } from './session.js';
import type { Trainer } from './trainer.js';
import type { Ui } from './ui.js';

/** The tint. It is repainted only when its inputs change, not on every hover. */
function tintOf(tint: Cached<Tint>, field: Field, state: Readonly<State>, target: number, palette: Palette): Tint {
  const noise = spreadOf(state);
  const inputs = [field, ...state.x, ...Object.values(noise), target, palette.paper.join(), palette.classes.join()];
  return tint.get(inputs, () => paintTint(field, state.x as Pair, noise, target, palette));
}

/**
 * The noisy samples around the current point. Until new samples arrive, the old ones move with the point and scale with sigma,
 * and their classes come from the field.
 */
function copiesOf({ asked, cloud }: Quick, fresh: boolean, field: Field, state: Readonly<State>, count: number): Copies {
  if (fresh) return { x: cloud.x.subarray(0, 2 * count), predicted: cloud.predicted.subarray(0, count) };
  const grow = state.sigma / asked.sigma;
  const x = cloud.x.slice(0, 2 * count).map((value, i) => state.x[i % 2]! + grow * (value - asked.x[i % 2]!));
  return { x, predicted: Array.from({ length: x.length / 2 }, (_, i) => classAt(field, x[2 * i]!, x[2 * i + 1]!)) };
}

const lined = (x: readonly number[], { target, margins, gradients }: Linearization): Line[] =>
  linesOf(x as Pair, target, margins, gradients);

/** With many classes, only this many lines are drawn, unless the user hovers over their estimator. */
const nearest = 3;

/** The classes with the nearest boundaries, measured in standard deviations of the noise. */
const nearestRivals = ({ rivals, z, target }: Linearization): number[] =>
  Array.from(rivals, (row, i) => ({ rival: rivalOf(row, target), z: z[i]! }))
    .sort((a, b) => a.z - b.z)
    .slice(0, nearest)
    .map(({ rival }) => rival);

/** The number of samples to draw for an estimator: as many as it uses, or all if its form has no number of samples. */
const copiesFor = (form: string | undefined): number =>
  form && !/^(taylor|softmax|adf|quadrature)/.test(form) ? samplesOf(form, cloudCount) : cloudCount;

interface SceneParts {
  state: Readonly<State>;
  session: PlaneSession;
  trainer: Trainer;
  ui: Ui;
  palette: Palette;
  tint: Cached<Tint>;
}

/** The lines of both linearisations, or only those of the hovered one, with its half-planes. */
function linesIn(
  { quick, listed }: Answers<PlaneValues>,
  { key, family, rival, shown }: { key: string; family: string | undefined; rival: number | undefined; shown: boolean },
): Pick<Scene, 'taylor' | 'mmse' | 'halves'> {
  const all = {
    taylor: quick && lined(quick.value.asked.x, quick.value.linear),
    mmse: listed && lined(listed.value.asked.x, listed.value.mmse),
  };
  const hovered = family === 'taylor' || family === 'mmse' ? family : undefined;
  const few = quick ? nearestRivals(quick.value.linear) : [];
  const drawn = (name: keyof typeof all, answered: string | undefined) => {
    const lines = all[name];
    if (!lines || !shown || (hovered && hovered !== name)) return undefined;
    return {
      lines: lines.filter((line) => hovered || line.rival === rival || few.includes(line.rival)),
      stale: answered !== key,
    };
  };
  return { taylor: drawn('taylor', quick?.key), mmse: drawn('mmse', listed?.key), halves: hovered && all[hovered] };
}

function arrowIn({ listed }: Answers<PlaneValues>, key: string): Scene['arrow'] {
  if (listed?.key !== key) return undefined;
  const { distance, step } = listed.value.boundary;
  return Number.isFinite(distance) ? step : undefined;
}

/** The certified radius, within which the majority vote of the noisy samples does not change. */
function certifiedIn({ votes }: Answers<PlaneValues>, key: string): number | undefined {
  const radius = votes?.key === key ? votes.value.radius : null;
  return radius !== null && radius > 0 ? radius : undefined;
}

export function sceneOf({ state, session, trainer, ui, palette, tint }: SceneParts): Scene | undefined {
  const { field, answers } = session;
  if (!field) return undefined;
  const at = state.x as Pair;
  const key = session.key(state);
  const quick = answers.quick?.value;
  const fresh = answers.quick?.key === key;
  const target = fresh ? quick!.truth.target : classAt(field, ...at);
  const family = ui.form?.split(':')[0]?.replace('_mvs', '');
  const blind = family === 'softmax';
  const shows = (layer: Layer) => state.show.includes(layer) && !blind;
  const copies = shows('cloud') && !['taylor', 'adf', 'quadrature'].includes(family ?? '');
  return {
    ...{ view, field, at, target, rings: !blind, rival: ui.rival, coarse: trainer.playing },
    noise: spreadOf(state),
    certified: state.show.includes('arrow') && !blind ? certifiedIn(session.answers, key) : undefined,
    label: `Point at ${at.map((value) => value.toFixed(2)).join(', ')}${isInside(view, at) ? '' : ', outside the picture'}, prediction ${letter(target)}. Arrow keys move it; with shift, further.`,
    tint: shows('tint') ? tintOf(tint, field, state, target, palette) : undefined,
    cloud: quick && copies ? copiesOf(quick, fresh, field, state, copiesFor(ui.form)) : undefined,
    data: state.show.includes('data') ? trainer.data : undefined,
    ...linesIn(answers, { key, family, rival: ui.rival, shown: shows('lines') }),
    arrow: shows('arrow') ? arrowIn(answers, key) : undefined,
    ghosts: ghostsOf(state, ui),
  };
}

/** The other points of the preset pair. */
function ghostsOf(state: Readonly<State>, { preset }: Ui): Scene['ghosts'] {
  const points = presets.find(({ id }) => id === preset)?.points ?? [];
  return points.map((at, i) => ({ name: String(i + 1), at })).filter(({ at }) => at.some((value, i) => value !== state.x[i]));
}
