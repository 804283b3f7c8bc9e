// SPDX-License-Identifier: MIT
// The page: the component with its state in the address. With ?embed=1 it is the component alone, for frames of other pages;
// ?panel=picture,number shows only these.
import '../element/define.js';
import type { ProbustExplorer } from '../element/probust-explorer.js';

const explorer = document.querySelector<ProbustExplorer>('probust-explorer')!;
const query = new URLSearchParams(location.search);
const panels = query.get('panel');

explorer.embed = query.get('embed') === '1';
document.documentElement.classList.toggle('embedded', explorer.embed);
explorer.addEventListener('statechange', () => (document.documentElement.dataset.theme = explorer.state.theme));
explorer.hash = true;
if (panels) explorer.panels = panels;
