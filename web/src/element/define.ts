// SPDX-License-Identifier: MIT
// The script that pages load: defines <probust-explorer>.
import { ProbustExplorer } from './probust-explorer.js';

if (!customElements.get('probust-explorer')) customElements.define('probust-explorer', ProbustExplorer);

export { ProbustExplorer };
export type { State } from '../state/state.js';
