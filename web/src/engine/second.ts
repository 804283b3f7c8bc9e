// SPDX-License-Identifier: MIT
// ONNX Runtime Web, which runs models that the package cannot run. It is available only if the page calls useSecondEngine.
import type { createOrtModel } from 'probust/ort';

export interface SecondEngine {
  createOrtModel: typeof createOrtModel;
}

let load: (() => Promise<SecondEngine>) | undefined;

/** Sets the function that loads ONNX Runtime Web: `() => import('probust/ort')`. */
export function useSecondEngine(loader: () => Promise<SecondEngine>): void {
  load = loader;
}

export async function secondEngine(): Promise<SecondEngine> {
  if (!load) throw new Error('this page does not include it');
  return load();
}
