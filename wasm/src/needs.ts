// SPDX-License-Identifier: MIT
// The parts of the module that a request needs. The lists may be incomplete: the engine detects a missing part and repeats the
// request with it. An entry here only avoids a failed attempt.
import type { PartName } from './parts.js';
import type { Request } from './protocol.js';

/** Estimators that need a part other than the first. Numbers are omitted: "probit:24:pooled" is listed as "probit:pooled". */
export const estimatorsIn = {
  more: ['mmse', 'taylor_mvs', 'regression', 'regression:adf', 'adf'],
  curves: ['auto', 'mmse_mvs', 'probit:pooled', 'regression:pooled'],
  rest: [
    'mc:stratified',
    'auto:independent',
    'mmse:centered',
    'mmse:loo',
    'probit:learned',
    'probit:shared',
    'regression:learned',
    'subset',
  ],
} as const;

/** The parts that the estimators of each list need. */
const withPart: Record<keyof typeof estimatorsIn, readonly PartName[]> = {
  more: ['more'],
  curves: ['more', 'curves'],
  rest: ['rest'],
};
const { more, curves, rest } = withPart;

/** The parts that operations, requests and estimators need in addition to the first. */
const partsOf: Record<string, readonly PartName[]> = {
  ...{
    nearestBoundary: more,
    mvn: more,
    data: more,
    sweep: curves,
    slice: rest,
    train: rest,
    check: rest,
    firstCheck: rest,
    pGradient: rest,
  },
  // Destructors of documents (core/probust/base/document.h) must not throw, so the functions that they call must be loaded.
  analyse: ['images', ...curves, ...rest],
  ...Object.fromEntries(
    Object.entries(estimatorsIn).flatMap(([part, names]) => names.map((name) => [name, withPart[part as keyof typeof withPart]])),
  ),
};

/** The parts that a request is known to need, in addition to the first. */
export function partsFor(request: Request): PartName[] {
  const words: string[] = [request.kind];
  if (request.kind === 'call') {
    const { estimators, estimator } = request.args as { estimators?: unknown; estimator?: unknown };
    const asked: unknown[] = Array.isArray(estimators) ? estimators : [estimator];
    words.push(request.operation, ...asked.map((text) => String(text).replace(/:[^a-z][^:]*/g, '')));
  }
  return words.flatMap((word) => partsOf[word] ?? []);
}
