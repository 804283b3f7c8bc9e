// SPDX-License-Identifier: MIT
// Text for numbers and estimators.
import type { Row } from 'probust';

/** How reliable a number is. */
type Kind = 'exact' | 'analytical' | 'sampled' | 'invalid';

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

const descriptions: Record<string, string> = {
  quadrature: 'Integrates the noise over a fine grid in the plane: the true value.',
  mc: 'Counts how many of N noisy copies keep the answer.',
  taylor: 'Replaces each boundary by a straight line, from the gradient at the point.',
  taylor_mvs: 'Like taylor, with a closed formula (mv-sigmoid) in place of the normal CDF.',
  mmse: 'Like taylor, with margins and gradients averaged over N noisy copies.',
  mmse_mvs: 'Like mmse, with the mv-sigmoid in place of the normal CDF.',
  probit: 'Treats the margins of N copies as normal, with their mean and covariance.',
  regression: 'Integrates the part that a few gradients explain, and averages the rest over copies.',
  adf: 'Propagates the mean and variance of the noise through the network, layer by layer.',
  subset: 'Reaches rare failures in steps.',
  softmax: 'The classifier’s own confidence, which ignores the noise.',
  auto: 'Chooses an estimator for the budget.',
};

/** Estimators that can be requested. */
export const estimatorNames = Object.keys(descriptions);

/** A one-sentence description of an estimator. */
export const describe = (form: string): string => descriptions[form.split(':')[0]!] ?? '';

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

/** A number with this many significant digits, and no trailing zeros. */
export const tidy = (value: number, digits = 3): string => String(Number(value.toPrecision(digits)));

/** Values below 0.01 as powers of ten. */
export const power = (value: number): string => (value >= 0.01 ? tidy(value) : `10${superscript(Math.round(Math.log10(value)))}`);

const superscript = (whole: number): string =>
  [...String(whole)].map((digit) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(digit)]).join('');
