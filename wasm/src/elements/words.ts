// SPDX-License-Identifier: MIT
// Numbers as readable text.

/** p in percent, with one decimal. At 99.5% and above, with enough decimals for two digits of 1 - p, but at most four. */
export function percent(p: number | null, pFail: number | null = null): string {
  if (p === null || !Number.isFinite(p)) return '–';
  const fails = pFail ?? 1 - p;
  if (p < 0.995) return `${(100 * p).toFixed(1)}%`;
  if (fails <= 0) return '100%';
  if (fails < 1e-6) return '> 99.9999%';
  const decimals = Math.min(4, Math.max(1, 1 - Math.floor(Math.log10(100 * fails))));
  return `${(100 * (1 - fails)).toFixed(decimals)}%`;
}

/** A text such as "94.9% to 97.4%"; empty if there is no interval. */
export const interval = (low: number | null, high: number | null): string =>
  low === null || high === null ? '' : `${percent(low)} to ${percent(high)}`;

/** A number with at most three significant digits. */
export const short = (value: number): string => String(Number(value.toPrecision(3)));

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
