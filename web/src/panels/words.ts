// SPDX-License-Identifier: MIT
// Text for numbers and estimators.
import type { EstimatorInfo, Row } from 'probust';

/** How reliable a number is. */
type Kind = 'exact' | 'analytical' | 'sampled' | 'confidence' | 'invalid';

export const marks: Record<Kind, { sign: string; words: string }> = {
  exact: { sign: '=', words: 'exact to rounding' },
  analytical: { sign: '≈', words: 'analytical approximation' },
  sampled: { sign: '±', words: 'sampled, with a 95% interval' },
  confidence: { sign: '○', words: 'confidence, not an estimate of p' },
  invalid: { sign: '∅', words: 'not valid here' },
};

export function kindOf({ p, ciLow, estimator }: Row): Kind {
  if (p === null) return 'invalid';
  if (estimator.startsWith('quadrature')) return 'exact';
  if (estimator.startsWith('softmax')) return 'confidence';
  return ciLow === null ? 'analytical' : 'sampled';
}

/** Remarks on a row: why it has no p, which estimator `auto` picked, and its note. */
export function reasonOf({ status, note, p, method, estimator }: Row): string {
  const chosen = method === estimator ? '' : `by ${method}`;
  const trouble = p === null || !['ok', 'tie', 'bound'].includes(status) ? (note ?? status) : (note ?? '');
  return [chosen, trouble].filter((part) => part !== '').join(': ');
}

/** Whether a text has the form of an estimator. For example, "mmse:10:centered" has the form "mmse:N:centered". */
const isOf = (form: string, estimator: EstimatorInfo): boolean => {
  const [name, parameter = '', variant = ''] = form.split(':');
  const [itsName, itsParameter = '', itsVariant = ''] = estimator.form.split(':');
  return name === itsName && variant === itsVariant && kindOfParameter(parameter) === kindOfParameter(itsParameter);
};

const kindOfParameter = (parameter: string): string => /^(±|\+-|p>)?/.exec(parameter)![0].replace('+-', '±');

/** A one-sentence description of an estimator. */
export function describe(form: string, estimators: readonly EstimatorInfo[]): string {
  const summary = estimators.find((estimator) => isOf(form, estimator))?.summary ?? '';
  const beginsWithName = estimators.some(({ name }) => summary.startsWith(`${name} `));
  return summary && `${beginsWithName ? summary[0]! : summary[0]!.toUpperCase()}${summary.slice(1)}.`;
}

/** A hint for beginners: what an estimator does. */
export function hintOf(form: string): string {
  const [name, samples] = form.split(':');
  const hints: Record<string, string> = {
    mc: `Monte Carlo: counts ${samples} noisy samples; new noise gives another estimate`,
    taylor: 'replaces the network by straight lines at the point',
    softmax: 'the network’s own confidence, which ignores the noise',
  };
  return hints[name!] ?? '';
}

/** The name in an estimator's form, and the rest of the form with its colon. */
export function nameOf(form: string): { name: string; detail: string } {
  const [name] = form.split(':');
  return { name: name!, detail: form.slice(name!.length) };
}

/** A text such as "1 pass" or "2 passes". */
export const passes = (count: number): string => `${count} ${count === 1 ? 'pass' : 'passes'}`;

/** A share in percent, with more digits near 0 and 1. As shown, a share and its complement add up to 100%. */
export function percent(share: number | null, rest = share === null ? NaN : 1 - share): string {
  if (share === null || Number.isNaN(share)) return '–';
  const small = Math.min(share, rest);
  if (small > 0 && small < 1e-6) return share > 0.5 ? '> 99.9999%' : `${(100 * share).toExponential(1)}%`;
  const digits = small >= 0.001 || small <= 0 ? 1 : Math.ceil(-Math.log10(small)) - 1;
  const shown = Number((100 * small).toFixed(Math.min(4, digits)));
  return `${(share > rest ? 100 - shown : shown).toFixed(Math.min(4, digits))}%`;
}

/** p in percent, never rounded to 0% or 100% unless it is exactly that. */
export const percentOf = ({ p, pFail }: Row): string => percent(p, pFail ?? undefined);

/** 1 - p in percent. */
export const failurePercentOf = ({ p, pFail }: Row): string => percent(pFail, p ?? undefined);

/** A number with this many significant digits, and no trailing zeros. */
export const tidy = (value: number, digits = 3): string => String(Number(value.toPrecision(digits)));

/** A number as text; values below 0.01 as powers of ten. */
export const power = (value: number): string => (value >= 0.01 ? tidy(value) : `10${superscript(Math.round(Math.log10(value)))}`);

const superscript = (whole: number): string =>
  [...String(whole)].map((digit) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(digit)]).join('');
