// SPDX-License-Identifier: MIT
// The parts of a lesson: steps with a text, a state of the explorer, and at most one task. More is shown only after the reader
// has done the task.
import type { TemplateResult } from 'lit';
import type { Row } from 'probust';
import type { Pair } from '../draw/view.js';
import type { State } from '../state/state.js';

/** The true p on screen, as reported by the explorer's event `result`. */
export type Truth = Row & { x: number[]; sigma: number };

/** The inputs of a task's reply. */
export interface Seen {
  truth: Truth | undefined;
  state: Readonly<State>;
  /** The line that the reader drew, as two of its points. */
  line: readonly [Pair, Pair];
}

/** The text of a reply, once it is computed. */
export type Reply = (given: number[], seen: Seen) => string | Promise<string>;

/** The reader moves the point; the reply describes its new position. */
interface PlaceTask {
  kind: 'place';
  ask: string;
  reply: Reply;
}

/** The reader chooses one of several answers. */
interface ChoiceTask {
  kind: 'choice';
  ask: string;
  options: readonly string[];
  reply: Reply;
}

/** The reader enters numbers, in percent. */
interface GuessTask {
  kind: 'guess';
  ask: string;
  fields: readonly string[];
  /** The largest number that is accepted. */
  most: number;
  reply: Reply;
}

/** The reader draws a line through the picture. */
interface LineTask {
  kind: 'line';
  ask: string;
  reply: Reply;
}

export type Task = PlaceTask | ChoiceTask | GuessTask | LineTask;

/** A button that changes the state of the explorer. */
export interface Action {
  label: string;
  /** Returns the parts of the state to change. */
  change(state: Readonly<State>): Partial<State>;
}

export interface Step {
  title: string;
  text: TemplateResult;
  /** What the explorer shows when the step begins. */
  state: Partial<State>;
  /** The panels that are shown until the task is answered; in steps without a task, all panels of the step. */
  panels: readonly string[];
  /** The panels that are shown after the answer. */
  revealed?: readonly string[];
  /** What else the explorer shows after the answer. */
  reveals?: Partial<State>;
  /** Whether the true p stays hidden until a later step. */
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
