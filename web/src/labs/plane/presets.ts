// SPDX-License-Identifier: MIT
// Pairs of points which show that the distance to the boundary and p are different, as in figures 1 and 2 of Scher and Trügler.
import type { Pair } from '../../draw/view.js';
import type { State } from '../../state/state.js';

export interface Preset {
  id: string;
  title: string;
  words: string;
  points: [Pair, Pair];
  state: Partial<State>;
}

export const presets: Preset[] = [
  {
    id: 'distance',
    title: 'Same distance, different p',
    words: 'Both points are 0.13 from a different prediction: one on one side only, the other all around.',
    points: [
      [-0.84, -0.06],
      [0.3, 0.06],
    ],
    state: { model: 'three', noise: 'gaussian', clip: false, sigma: 0.2, ratio: 1, angle: 0 },
  },
  {
    id: 'probability',
    title: 'Same p, different distance',
    words:
      'The prediction survives in 70% of cases at both points, but the boundary is more than three times as far from one as from the other.',
    points: [
      [0, -0.24],
      [-0.78, -0.12],
    ],
    state: { model: 'three', noise: 'gaussian', clip: false, sigma: 0.2, ratio: 1, angle: 0 },
  },
];
