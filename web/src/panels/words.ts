// SPDX-License-Identifier: MIT
// Text for numbers and estimators.
import type { Row } from 'probust';

/** How reliable a number is. */
export type Kind = 'exact' | 'analytical' | 'sampled' | 'invalid';

export const marks: Record<Kind, { sign: string; words: string }> = {
  exact: { sign: '=', words: 'exact to rounding' },
  analytical: { sign: '≈', words: 'analytical approximation' },
  sampled: { sign: '±', words: 'sampled, with a 95 % interval' },
  invalid: { sign: '∅', words: 'not valid here' },
};

export function kindOf({ p, ciLow, estimator }: Row): Kind {
  if (p === null) return 'invalid';
  if (estimator.startsWith('quadrature')) return 'exact';
  return ciLow === null ? 'analytical' : 'sampled';
}

const plain: Record<string, string> = {
  quadrature: 'Sums the noise over a fine grid of the plane: the true value.',
  mc: 'Counts how many of N noisy copies keep the answer.',
  taylor: 'Replaces each boundary by the straight line that the gradient at the point gives.',
  taylor_mvs: 'As taylor, with a quick formula (mv-sigmoid) in place of the normal CDF.',
  mmse: 'Averages margins and gradients over N noisy copies before it draws its lines.',
  mmse_mvs: 'As mmse, with the mv-sigmoid in place of the normal CDF.',
  probit: 'Takes the mean and covariance of the margins of N copies, as if these were normal.',
  regression: 'Integrates what a few gradients explain, and averages over what they leave.',
  adf: 'Sends mean and variance of the noise through the network, layer by layer.',
  subset: 'Walks towards rare failures in steps.',
  softmax: 'The classifier’s own confidence. It never sees the noise.',
  auto: 'Chooses an estimator for the budget.',
};

/** Estimators that can be requested. */
export const estimatorNames = Object.keys(plain);

/** A one-sentence description of an estimator. */
export const describe = (form: string): string => plain[form.split(':')[0]!] ?? '';

/** The estimator's name, and separately its number of copies. */
export const nameOf = (form: string): { name: string; detail: string } => {
  const [name, ...rest] = form.split(':');
  return { name: name!.replace('_mvs', ' (mv-sigmoid)'), detail: name === 'softmax' ? '' : rest.join(':') };
};

/** A share in percent, with more digits near 0 and 1. */
export function percent(share: number | null, rest = share === null ? NaN : 1 - share): string {
  if (share === null || Number.isNaN(share)) return '–';
  const small = Math.min(share, rest);
  if (small > 0 && small < 1e-6) return share > 0.5 ? '> 99.9999 %' : `${(100 * share).toExponential(1)} %`;
  const digits = small >= 0.001 || small <= 0 ? 1 : Math.ceil(-Math.log10(small)) - 1;
  return `${(100 * share).toFixed(Math.min(4, digits))} %`;
}

/** p in percent, never rounded to 0 or 100 % if it is neither. */
export const percentOf = ({ p, pFail }: Row): string => percent(p, pFail ?? undefined);

export const tidy = (value: number, digits = 3): string => String(Number(value.toPrecision(digits)));

/** Values below 0.01 as powers of ten. */
export const power = (value: number): string => (value >= 0.01 ? tidy(value) : `10${superscript(Math.round(Math.log10(value)))}`);

const superscript = (whole: number): string =>
  [...String(whole)].map((digit) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(digit)]).join('');
