// SPDX-License-Identifier: MIT
// The workers of a page. All its explorers share them: there is at most one for each core, and the last explorer ends them.
import { createProbust, type Probust } from 'probust';

/** `quick` answers every frame, `patient` does longer work. */
export type Side = 'quick' | 'patient';

interface Shared {
  readonly probust: Promise<Probust>;
  /** How many use it for either kind of work. */
  readonly users: Record<Side, number>;
  end(): void;
}

/** A worker as one user has it. */
export interface Lease {
  readonly probust: Promise<Probust>;
  release(): void;
}

const workers: Shared[] = [];
const most = (): number => Math.max(1, navigator.hardwareConcurrency || 2);
const other: Record<Side, Side> = { quick: 'patient', patient: 'quick' };

/** A worker whose last user ends it, also while it starts. */
function begun(): Shared {
  const controller = new AbortController();
  const probust = createProbust({ worker: true, signal: controller.signal });
  const forget = () => {
    if (workers.includes(worker)) workers.splice(workers.indexOf(worker), 1);
  };
  const end = () => {
    forget();
    controller.abort();
    probust.then((started) => started.dispose()).catch(() => undefined);
  };
  const worker: Shared = { probust, users: { quick: 0, patient: 0 }, end };
  probust.catch(forget); // whoever comes next tries again
  workers.push(worker);
  return worker;
}

/** The worker with the least work of the other kind, and then of this kind: long work should not delay frames. */
function leastBusy(side: Side): Shared {
  const load = ({ users }: Shared) => users[other[side]] * 1000 + users[side];
  return workers.reduce((best, each) => (load(each) < load(best) ? each : best));
}

/** Takes a new worker as long as there are fewer than cores, else one that others use, too. */
export function take(side: Side): Lease {
  const worker = workers.length < most() ? begun() : leastBusy(side);
  worker.users[side] += 1;
  let released = false;
  return {
    probust: worker.probust,
    release() {
      if (released) return;
      released = true;
      worker.users[side] -= 1;
      if (worker.users.quick + worker.users.patient === 0) worker.end();
    },
  };
}
