// SPDX-License-Identifier: MIT
// ONNX Runtime Web, which runs models that the package cannot run. Pages decide whether they load it.
import type { createOrtModel } from 'probust/ort';

export interface SecondEngine {
  createOrtModel: typeof createOrtModel;
}

let load: (() => Promise<SecondEngine>) | undefined;

/** Sets how to load it: `() => import('probust/ort')`. */
export function useSecondEngine(loader: () => Promise<SecondEngine>): void {
  load = loader;
}

export async function secondEngine(): Promise<SecondEngine> {
  if (!load) throw new Error('this page does not include it');
  return load();
}
