// SPDX-License-Identifier: MIT
// The five lessons. Each asks for a guess before it shows the number, takes about five minutes, and ends with free exploration.
import { html } from 'lit';
import { presets } from '../labs/plane/presets.js';
import { averageCase, naturalPerturbations } from '../panels/sources.js';
import { percent, percentOf } from '../panels/words.js';
import type { State } from '../state/state.js';
import { definition, distanceInSigmas, orthant, standardError, unionBound } from './formulas.js';
import type { Lesson, Seen, Step } from './lesson.js';
import { sideOfLine, estimated, sumOverRivals } from './numbers.js';

const base: Partial<State> = {
  ...{ lab: 'plane', noise: 'gaussian', clip: false, ratio: 1, angle: 0, seed: 0, more: false },
  show: ['tint', 'cloud', 'data'],
};
const picture = ['picture', 'sigma'];
const withNumber = [...picture, 'number'];

const points = (share: number): string => `${Math.round(100 * Math.abs(share))} percentage points`;
const more = (value: number, than: number): string => (value > than ? 'more' : 'less');

/** The last step: a question to explore, with a sample answer. */
const free = (question: string, answer: string, step: Pick<Step, 'state'> & Partial<Step>): Step => ({
  title: 'Your turn',
  text: html`<p>${question}</p>
    <details class="small">
      <summary>An answer</summary>
      <p>${answer}</p>
    </details>`,
  panels: [...withNumber, 'estimators', 'boundary', 'curves', 'shape'],
  ...step,
});

const whatIsP: Lesson = {
  id: 'p',
  title: 'What is p?',
  question: 'How reliable is a prediction if the input is noisy?',
  steps: [
    {
      title: 'A point and its noisy samples',
      text: html`<p>
          A classifier takes two numbers and predicts a class, shown by the colour of the region. The large dot is an input. The
          class predicted for it is the prediction.
        </p>
        <p>
          Inputs are measured, so they are noisy. The small dots are 300 noisy samples: inputs that you might have measured
          instead. Rings mark the samples that get a different prediction. Move the point and watch them.
        </p>
        <p class="muted small">
          The tiny squares are the training data of the classifier. The circles are at one and two standard deviations of the
          noise.
        </p>`,
      state: { ...base, model: 'moons', x: [-0.9, 0.5], sigma: 0.3, show: ['cloud', 'data'] },
      panels: picture,
    },
    {
      title: 'Predict',
      text: html`<p>p is the share of all possible noisy samples that keep the prediction.</p>`,
      state: { ...base, model: 'moons', x: [-0.9, 0.5], sigma: 0.3, show: ['data'] },
      panels: ['picture'],
      revealed: withNumber,
      task: {
        kind: 'place',
        ask: 'Move the point to where you expect p = 50%.',
        reply: (_, { truth }) => {
          const p = truth?.p ?? NaN;
          const off = Math.abs(p - 0.5);
          const verdict = off < 0.03 ? 'Well placed' : off < 0.07 ? 'Close' : 'Not there yet';
          return `${verdict}: p is ${percent(p)} here. On a straight boundary p is 50%. It is lower where the other class wraps around the point, and higher where the point’s own class does.`;
        },
      },
    },
    {
      title: 'The definition',
      text: html`<p>f is the classifier, x the input, and ε the noise. The prediction is the class with the largest score.</p>
        ${definition}
        <p>
          Here ε is Gaussian with standard deviation σ in each direction. The shaded part of the noise changes the prediction. Its
          share is 1 − p.
        </p>
        <p class="source">Definition 1 of ${averageCase}.</p>`,
      state: { ...base, model: 'moons', x: [-0.4, 0.5], sigma: 0.3 },
      panels: withNumber,
    },
    free(
      'Can p be below 50% for the class that the classifier predicts? Try the tip of a narrow region.',
      'Yes. At (0.4, 0) p is 26%: the prediction there is C, but most noisy samples fall into the regions around it.',
      {
        state: { ...base, model: 'three', x: [-0.3, 0.9], sigma: 0.25, show: ['tint', 'cloud', 'data'] },
        panels: withNumber,
      },
    ),
  ],
};

const [first, second] = presets[0]!.points;
const compared: Partial<State> = { ...base, model: 'three', sigma: 0.2 };

const distanceIsNotP: Lesson = {
  id: 'distance',
  title: 'Distance is not probability',
  question: 'Is the input farther from the boundary always the safer one?',
  steps: [
    {
      title: 'The worst case',
      text: html`<p>
          The arrow is the shortest step to a different prediction. Its length is the usual measure of robustness: an attacker who
          chooses the noise needs at least this much.
        </p>
        <p>Random noise is not chosen. It goes in all directions.</p>`,
      state: { ...compared, x: [...first], show: ['cloud', 'arrow', 'data'] },
      panels: [...picture, 'boundary'],
    },
    {
      title: 'Predict',
      text: html`<p>Two points. Both arrows are 0.13 long. Look at both before you answer.</p>`,
      state: { ...compared, x: [...first], show: ['arrow', 'data'] },
      panels: ['picture'],
      revealed: withNumber,
      actions: [
        { label: 'Show point 1', change: () => ({ x: [...first] }) },
        { label: 'Show point 2', change: () => ({ x: [...second] }) },
      ],
      task: {
        kind: 'choice',
        ask: 'Which point keeps its prediction more often?',
        options: ['point 1', 'point 2', 'both equally'],
        reply: async ([chosen], { state }) => {
          const rows = await Promise.all(
            [first, second].map(async (x) => (await estimated({ ...state, x: [...x] }, ['quadrature:256']))[0]!),
          );
          const [one, two] = rows.map((row) => row.p ?? NaN) as [number, number];
          const right = one > two ? 0 : 1;
          return `${chosen === right ? 'Yes' : 'No'}: point 1 keeps it in ${percent(one)} of cases, point 2 in ${percent(two)}. Point 1 has a different prediction on one side only, point 2 all around.`;
        },
      },
    },
    {
      title: 'The other way round',
      text: html`<p>
          These two points keep their predictions equally often, but one arrow is more than three times as long as the other.
          Neither number follows from the other. Use the one that fits your question: the distance for an attacker, p for noise.
        </p>
        <p class="source">After figures 1 and 2 of ${naturalPerturbations}.</p>`,
      state: { ...compared, x: [...presets[1]!.points[0]], show: ['tint', 'arrow', 'data'] },
      panels: [...withNumber, 'boundary'],
      actions: presets[1]!.points.map((x, i) => ({ label: `Show point ${i + 1}`, change: () => ({ x: [...x] }) })),
    },
    free(
      'Find two points such that the one with the shorter arrow is safer.',
      'At (−0.84, −0.06) the arrow is 0.13 long and p is 80%. At (0, −0.24) the arrow is 0.22 long and p is 70%.',
      { state: { ...compared, x: [...first], show: ['tint', 'arrow', 'data'] }, panels: [...withNumber, 'boundary', 'curves'] },
    ),
  ],
};

const corner: Partial<State> = { ...base, model: 'six', x: [0.1, 0.05], sigma: 0.3, show: ['data', 'lines'] };

const doubleCounting: Lesson = {
  id: 'counting',
  title: 'Straight lines and double counting',
  question: 'Can you simply add up the probabilities of all rivals?',
  steps: [
    {
      title: 'One rival, one line',
      text: html`<p>
          If the scores are linear, the boundary to each rival is a straight line. Then only its distance matters, in units of σ:
        </p>
        ${distanceInSigmas}
        <p>
          The probability of crossing a line at distance z is 1 − Φ(z), where Φ is the normal distribution function. The dashed
          lines linearise the network at the point. This is Taylor’s approximation.
        </p>`,
      state: { ...corner, x: [0.55, 0.2] },
      panels: [...picture, 'boundary'],
    },
    {
      title: 'Predict',
      text: html`<p>
        Six regions meet here. The point has five rivals. The table shows how many σ away their dashed lines are. A line at z = 0
        is crossed by 50% of the noise, one at 0.5 by 31%, and one at 1 by 16%. Add up the five, as if no noise crossed two lines.
      </p>`,
      state: corner,
      panels: ['picture', 'boundary'],
      revealed: ['picture', 'number', 'counting'],
      task: {
        kind: 'guess',
        ask: 'What is the sum over the rivals, in percent?',
        fields: ['the sum'],
        most: 500,
        reply: async ([guess], { state, truth }) => {
          const sum = await sumOverRivals(state);
          const off = guess! / 100 - sum;
          const verdict = Math.abs(off) < 0.1 ? ', as you expected' : `: you expected ${points(off)} ${more(guess! / 100, sum)}`;
          return `The sum is ${(100 * sum).toFixed(0)}%${verdict}. The prediction actually changes in ${percent(truth?.pFail ?? NaN)} of cases. Noise that crosses several lines was counted several times.`;
        },
      },
    },
    {
      title: 'The normal CDF',
      text: html`<p>The sum is only an upper bound, and here it is useless:</p>
        ${unionBound}
        <p>
          The same noise moves the point relative to all lines, so the crossings are correlated. The exact probability that no
          line is crossed is the distribution function of a normal vector with these correlations R:
        </p>
        ${orthant}
        <p class="source">Lemma 1 and section 3.2.3 of ${averageCase}; Boole’s inequality.</p>`,
      state: corner,
      panels: ['picture', 'sigma', 'number', 'correlation', 'counting'],
    },
    free(
      'Move away from the corner. Where is the sum almost right, and why?',
      'Near the middle of a boundary between two regions. There, one rival is much nearer than the others, and hardly any noise crosses two lines.',
      { state: corner, panels: [...withNumber, 'boundary', 'counting'] },
    ),
  ],
};

const curved: Partial<State> = { ...base, model: 'moons', x: [0.3, -0.1], sigma: 0.6, show: ['cloud', 'data'] };

const bestLine: Lesson = {
  id: 'line',
  title: 'Taylor or MMSE?',
  question: 'Which straight line best approximates a curved boundary?',
  steps: [
    {
      title: 'A curved boundary',
      text: html`<p>
        This network is not linear, and the noise is wide: σ is 0.6. But the normal distribution function needs a straight line.
        One line has to approximate the whole boundary within reach of the noise.
      </p>`,
      state: curved,
      panels: picture,
    },
    {
      title: 'Draw',
      text: html`<p>Move the two ends of the line. Its p is the share of the noise on the point’s side of the line.</p>`,
      state: curved,
      panels: ['picture'],
      revealed: withNumber,
      reveals: { show: ['tint', 'lines', 'data'], estimators: ['mmse:25', 'taylor'] },
      task: {
        kind: 'line',
        ask: 'Draw the line that you would use.',
        reply: async (_, { state, line }: Seen) => {
          const [mine, rows] = await Promise.all([
            sideOfLine(state, line),
            estimated(state, ['quadrature:256', 'taylor', 'mmse:25']),
          ]);
          if (Number.isNaN(mine)) return 'Both ends of your line are at the same place: move one of them.';
          const [truth, taylor, mmse] = rows as [(typeof rows)[0], (typeof rows)[0], (typeof rows)[0]];
          return `Your line gives ${percent(mine)}; the truth is ${percentOf(truth)}. Taylor’s line (dashed) uses only the network’s slope at the point and gives ${percentOf(taylor)}. The MMSE line (solid) is an average over 25 noisy samples and gives ${percentOf(mmse)}.`;
        },
      },
    },
    {
      title: 'Why they differ',
      text: html`<p>
          Taylor (dashed) uses the network only at the point, which is right for small noise. MMSE (solid) is the line with the
          least mean squared error over the noise. It needs more passes through the network, but takes into account the whole
          region that the noise reaches.
        </p>
        <p>
          Training with noise makes a network smooth at the scale of the noise. Set “Training noise” to 0.6 and press “Train”: the
          two lines move closer together, and so do the numbers.
        </p>
        <p class="source">Section 3.2 of ${averageCase}.</p>`,
      state: { ...curved, show: ['tint', 'lines', 'data'], estimators: ['mmse:25', 'taylor'] },
      panels: ['picture', 'sigma', 'number', 'estimators', 'training'],
    },
    free(
      'At which σ do Taylor and MMSE begin to differ? The curves show it.',
      'At about 0.2: there Taylor gives 99% and MMSE 95%, and the truth is 88%.',
      {
        state: { ...curved, show: ['tint', 'lines', 'data'], estimators: ['mmse:25', 'taylor'] },
        panels: [...withNumber, 'estimators', 'curves'],
      },
    ),
  ],
};

const few: Partial<State> = { ...base, model: 'three', x: [-0.86, 0.06], sigma: 0.25, show: ['data'], estimators: ['mc:25'] };

const trust: Lesson = {
  id: 'copies',
  title: 'Can you trust 25 samples?',
  question: 'How accurate is a count of a few noisy samples?',
  steps: [
    {
      title: 'Count',
      text: html`<p>
        Counting needs no formula: draw 25 noisy samples, and count those that keep the prediction. Press “New noise” a few times.
        Each time you get 25 new samples and a different estimate. (The picture shows 300 samples; the row mc:25 counts the first
        25.)
      </p>`,
      state: { ...few, show: ['cloud', 'data'] },
      panels: ['picture', 'estimators'],
      secret: true,
      actions: [{ label: 'New noise', change: ({ seed }) => ({ seed: seed + 1 }) }],
    },
    {
      title: 'Predict',
      text: html`<p>Draw new noise until you have seen enough. Then write down an interval that you trust.</p>`,
      state: few,
      panels: ['picture', 'estimators'],
      revealed: ['picture', 'number', 'estimators'],
      actions: [{ label: 'New noise', change: ({ seed }) => ({ seed: seed + 1 }) }],
      task: {
        kind: 'guess',
        ask: 'Between which two values is p, in percent?',
        fields: ['from', 'to'],
        most: 100,
        reply: async ([from, to], { state, truth }) => {
          const p = 100 * (truth?.p ?? NaN);
          const [row] = await estimated(state, ['mc:25']);
          const inside = Math.min(from!, to!) <= p && p <= Math.max(from!, to!);
          const width = Math.abs(to! - from!);
          return `p is ${p.toFixed(1)}%: ${inside ? 'inside' : 'outside'} your interval, which is ${width.toFixed(0)} points wide. One count of 25 samples gives the 95% interval from ${percent(row!.ciLow)} to ${percent(row!.ciHigh)}.`;
        },
      },
    },
    {
      title: 'The price of a digit',
      text: html`<p>The error of a count falls with the square root of the number N of samples:</p>
        ${standardError}
        <p>
          So a tenth of the error costs a hundred times as many samples. With few samples, estimators that also use the network’s
          scores (probit) or slopes (regression) have a smaller error at the same cost. With many samples, the error of their
          assumptions dominates, and counting catches up.
        </p>
        <p>
          What about the network’s own confidence? The softmax is 98%, but only 83% of the noisy samples keep the prediction. The
          softmax ignores the noise.
        </p>
        <p class="source">Section 4.1 of ${averageCase}.</p>`,
      state: { ...few, show: ['tint', 'data'], estimators: ['probit:24', 'mc:25', 'softmax:1'] },
      panels: ['picture', 'number', 'estimators', 'convergence'],
    },
    free(
      'How many samples do you need for a standard error below one percentage point?',
      'About 1,400, because √(0.83 · 0.17 / N) is 0.01 at N = 1,411. Even then, one count in three is off by more.',
      {
        state: { ...few, show: ['tint', 'cloud', 'data'], estimators: ['probit:24', 'mc:25', 'mc:100', 'mc:1400', 'softmax:1'] },
        panels: [...withNumber, 'estimators', 'convergence'],
      },
    ),
  ],
};

export const lessons: readonly Lesson[] = [whatIsP, distanceIsNotP, doubleCounting, bestLine, trust];
