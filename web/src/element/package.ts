// SPDX-License-Identifier: MIT
// `probust/explorer`: defines <probust-explorer>. It does not load ONNX Runtime Web, because some pages do not install it.
import { ProbustExplorer } from './probust-explorer.js';
import type { ProbustExplorerElement } from './public.js';

if (!customElements.get('probust-explorer')) customElements.define('probust-explorer', ProbustExplorer);

// Lit defines its properties.
const element = ProbustExplorer as unknown as new () => ProbustExplorerElement;
export { element as ProbustExplorer };
export { useSecondEngine, type SecondEngine } from '../engine/second.js';
export type { ProbustExplorerElement, State } from './public.js';
