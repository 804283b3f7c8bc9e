// SPDX-License-Identifier: MIT
// `probust/explorer`: defines <probust-explorer>. It does not load ONNX Runtime Web, because some pages do not install it.
import { ProbustExplorer } from './probust-explorer.js';
import type { ProbustExplorerElement } from './public.js';

if (!customElements.get('probust-explorer')) customElements.define('probust-explorer', ProbustExplorer);

// Lit defines the element's properties at run time, so the compiler does not know that the class has them.
const element = ProbustExplorer as unknown as new () => ProbustExplorerElement;
export { element as ProbustExplorer };
export { useSecondEngine, type SecondEngine } from '../engine/second.js';
export type { ProbustExplorerElement, State } from './public.js';
