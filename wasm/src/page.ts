// SPDX-License-Identifier: MIT
// `probust/page`: the workers of a page. Its components and explorers share them: there is at most one worker for each core, and
// the last user ends them.
import type { Probust } from './api.js';
import { createProbust } from './index.js';

/** `quick` answers every frame, `patient` does longer work. */
export type Side = 'quick' | 'patient';

/** A library with its workers, as one user has it. */
export interface Lease {
  readonly probust: Promise<Probust>;
  release(): void;
  /** Releases it, and lets nobody else take it: its workers have failed. */
  discard(): void;
}

interface Shared {
  readonly probust: Promise<Probust>;
  readonly workers: number;
  /** How many use it for either kind of work. */
  readonly users: Record<Side, number>;
  end(): void;
  /** Nobody takes it any more. */
  forget(): void;
}

const libraries: Shared[] = [];
const cores = (): number => Math.max(1, globalThis.navigator?.hardwareConcurrency || 2);
const free = (): number => cores() - libraries.reduce((all, { workers }) => all + workers, 0);
const other: Record<Side, Side> = { quick: 'patient', patient: 'quick' };

/** A library whose last user ends it, also while it starts. */
function begun(workers: number): Shared {
  const controller = new AbortController();
  const probust = createProbust({ threads: workers, signal: controller.signal });
  const forget = () => {
    if (libraries.includes(library)) libraries.splice(libraries.indexOf(library), 1);
  };
  const end = () => {
    forget();
    controller.abort();
    probust.then((started) => started.dispose()).catch(() => undefined);
  };
  const library: Shared = { probust, workers, users: { quick: 0, patient: 0 }, end, forget };
  probust.catch(forget); // whoever comes next tries again
  libraries.push(library);
  return library;
}

/** The library with the least work of the other kind, and then of this kind: long work should not delay frames. */
function leastBusy(side: Side): Shared {
  const load = ({ users }: Shared) => users[other[side]] * 1000 + users[side];
  return libraries.reduce((best, each) => (load(each) < load(best) ? each : best));
}

/** Many workers leave a core to others, if there are more than two. */
const share = (most: number, left: number): number =>
  most > 1 && cores() > 2 ? Math.max(1, Math.min(most, left - 1)) : Math.min(most, left);

/** Takes a library with up to `most` new workers as long as there are fewer than cores, else one that others use, too. */
export function takeProbust(side: Side, most = 1): Lease {
  const left = free();
  const library = left > 0 ? begun(share(most, left)) : leastBusy(side);
  library.users[side] += 1;
  let released = false;
  const release = () => {
    if (released) return;
    released = true;
    library.users[side] -= 1;
    if (library.users.quick + library.users.patient === 0) library.end();
  };
  const discard = () => {
    library.forget();
    release();
  };
  return { probust: library.probust, release, discard };
}

export type * from './public.js';
