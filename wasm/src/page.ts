// SPDX-License-Identifier: MIT
// `probust/page`: the workers of a page, shared by its components and explorers. There is at most one worker per core, and the last
// user stops them.
import type { Probust } from './api.js';
import { createProbust } from './index.js';

/** `quick` is for work in every frame, `patient` for longer work. */
export type Side = 'quick' | 'patient';

/** One user's handle of a library with its workers. */
export interface Lease {
  readonly probust: Promise<Probust>;
  release(): void;
  /** Releases the library after its workers have failed, so that no other user gets it. */
  discard(): void;
}

interface Shared {
  readonly probust: Promise<Probust>;
  readonly workers: number;
  /** The number of users for each kind of work. */
  readonly users: Record<Side, number>;
  end(): void;
  /** Makes sure that the library gets no new users. */
  forget(): void;
}

const libraries: Shared[] = [];
const cores = (): number => Math.max(1, globalThis.navigator?.hardwareConcurrency || 2);
const free = (): number => cores() - libraries.reduce((all, { workers }) => all + workers, 0);
const other: Record<Side, Side> = { quick: 'patient', patient: 'quick' };

/** Starts a library. Its last user stops it, even if it has not finished starting. */
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
  probust.catch(forget); // the next request tries again
  libraries.push(library);
  return library;
}

/** The library with the least work of the other kind, and then of this kind: long work should not delay frames. */
function leastBusy(side: Side): Shared {
  const load = ({ users }: Shared) => users[other[side]] * 1000 + users[side];
  return libraries.reduce((best, each) => (load(each) < load(best) ? each : best));
}

/** Leaves one core to other work if there are more than two. */
const share = (most: number, left: number): number =>
  most > 1 && cores() > 2 ? Math.max(1, Math.min(most, left - 1)) : Math.min(most, left);

/** Returns a library with up to `most` new workers if there are fewer workers than cores; otherwise returns a shared one. */
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
