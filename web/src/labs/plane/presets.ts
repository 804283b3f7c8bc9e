// SPDX-License-Identifier: MIT
// Pairs of points that show that distance to the boundary and p are two things, after figures 1 and 2 of Scher and Trügler.
import type { Pair } from '../../draw/view.js';
import type { State } from '../../state/state.js';

export interface Preset {
  id: string;
  title: string;
  words: string;
  points: [Pair, Pair];
  state: Partial<State>;
}

export const presets: Preset[] = [];
