// SPDX-License-Identifier: MIT
// The script that pages load: defines <probust-explorer>, with ONNX Runtime Web for models that the package cannot run.
import { useSecondEngine } from '../engine/second.js';
import { ProbustExplorer } from './probust-explorer.js';

useSecondEngine(() => import('probust/ort'));
if (!customElements.get('probust-explorer')) customElements.define('probust-explorer', ProbustExplorer);

export { ProbustExplorer };
export type { State } from '../state/state.js';
