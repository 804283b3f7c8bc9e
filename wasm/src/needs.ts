// SPDX-License-Identifier: MIT
// Which parts of the module a request needs. It need not be complete: a part that is missing is noticed by the engine, and what is
// here only saves the attempt without it.
import type { PartName } from './parts.js';
import type { Request } from './protocol.js';

/** Estimators that need another part, without their numbers: "probit:24:pooled" is "probit:pooled". */
export const estimatorsIn = {
  more: ['taylor_mvs', 'regression', 'regression:adf', 'adf'],
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

/** Operations, requests and estimators that are not in the first part alone. What is in `curves` needs `more`, too. */
const placeOf: Record<string, PartName> = {
  ...{ nearestBoundary: 'more', mvn: 'more', data: 'more', sweep: 'curves', slice: 'rest', train: 'rest' },
  ...{ check: 'rest', firstCheck: 'rest' },
  ...Object.fromEntries(Object.entries(estimatorsIn).flatMap(([part, names]) => names.map((name) => [name, part]))),
};

const partsOf = (word: string): PartName[] => {
  // Destructors of documents (core/probust/base/document.h) must not throw, so what they call has to be there.
  if (word === 'analyse') return ['images', 'more', 'curves', 'rest'];
  const part = placeOf[word];
  return part === 'curves' ? ['more', part] : part ? [part] : [];
};

/** The parts that a request is known to need, in addition to the first. */
export function partsFor(request: Request): PartName[] {
  const words: string[] = [request.kind];
  if (request.kind === 'call') {
    const { estimators, estimator } = request.args as { estimators?: unknown; estimator?: unknown };
    const asked: unknown[] = Array.isArray(estimators) ? estimators : [estimator];
    words.push(request.operation, ...asked.map((text) => String(text).replace(/:[^a-z][^:]*/g, '')));
  }
  return words.flatMap(partsOf);
}
