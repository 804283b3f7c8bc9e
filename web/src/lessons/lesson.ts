// SPDX-License-Identifier: MIT
// What a lesson is made of: steps with a text, a state of the explorer, and at most one task, which is answered before more is shown.
import type { TemplateResult } from 'lit';
import type { Row } from 'probust';
import type { Pair } from '../draw/view.js';
import type { State } from '../state/state.js';

/** The true p on screen, as the explorer's event `result` gives it. */
export type Truth = Row & { x: number[]; sigma: number };

/** What a task is answered from. */
export interface Seen {
  truth: Truth | undefined;
  state: Readonly<State>;
  /** The line that was drawn: two of its points. */
  line: readonly [Pair, Pair];
}

/** An answer in words, once it is computed. */
export type Reply = (given: number[], seen: Seen) => string | Promise<string>;

/** Move the point to a place; the reply compares what is there. */
interface PlaceTask {
  kind: 'place';
  ask: string;
  reply: Reply;
}

/** One of several answers. */
interface ChoiceTask {
  kind: 'choice';
  ask: string;
  options: readonly string[];
  reply: Reply;
}

/** Numbers, in percent. */
interface GuessTask {
  kind: 'guess';
  ask: string;
  fields: readonly string[];
  /** The largest number that makes sense. */
  most: number;
  reply: Reply;
}

/** A line through the picture. */
interface LineTask {
  kind: 'line';
  ask: string;
  reply: Reply;
}

export type Task = PlaceTask | ChoiceTask | GuessTask | LineTask;

/** A button that changes the state of the explorer. */
export interface Action {
  label: string;
  /** Its count says how often this was pressed before. */
  change(state: Readonly<State>): Partial<State>;
}

export interface Step {
  title: string;
  text: TemplateResult;
  /** What the explorer shows when the step begins. */
  state: Partial<State>;
  /** The panels before the task is answered, or at all. */
  panels: readonly string[];
  /** The panels after the answer. */
  revealed?: readonly string[];
  /** What else the explorer shows after the answer. */
  reveals?: Partial<State>;
  /** Whether the true p is left to a later step. */
  secret?: boolean;
  actions?: readonly Action[];
  task?: Task;
}

export interface Lesson {
  id: string;
  title: string;
  /** The question in a sentence. */
  question: string;
  steps: readonly Step[];
}
