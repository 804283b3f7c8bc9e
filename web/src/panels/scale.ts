// SPDX-License-Identifier: MIT
// Scales of charts: from values to positions.

export type Interval = readonly [from: number, to: number];

export interface Scale {
  (value: number): number;
  domain: Interval;
}

/** Maps values to positions. If `clamped`, values outside the domain are mapped to the ends of the range. */
function scaleBy(shape: (value: number) => number, domain: Interval, range: Interval, clamped: boolean): Scale {
  const [low, high] = [shape(domain[0]), shape(domain[1])];
  const scale = (value: number) => {
    const share = (shape(value) - low) / (high - low);
    return range[0] + (clamped ? Math.min(1, Math.max(0, share)) : share) * (range[1] - range[0]);
  };
  return Object.assign(scale, { domain });
}

export const linearScale = (domain: Interval, range: Interval): Scale => scaleBy((value) => value, domain, range, false);

export const logScale = (domain: Interval, range: Interval, clamped = false): Scale => scaleBy(Math.log, domain, range, clamped);
