// SPDX-License-Identifier: MIT
// The explorer's page: the component, with its state in the URL. With ?embed=1, it shows only the component, for frames on other
// pages; ?panel=picture,number shows only these panels; ?brief=1 hides their descriptions. For a projector, all sizes in rem are
// larger.
import '../element/define.js';
import { keepOffline } from './offline.js';
import type { ProbustExplorer } from '../element/probust-explorer.js';

const explorer = document.querySelector<ProbustExplorer>('probust-explorer')!;
const query = new URLSearchParams(location.search);
const panels = query.get('panel');

explorer.embed = query.get('embed') === '1';
explorer.brief = query.get('brief') === '1';
document.documentElement.classList.toggle('embedded', explorer.embed);
explorer.addEventListener('statechange', () => {
  const { theme, projector } = explorer.state;
  document.documentElement.dataset.theme = theme;
  document.documentElement.classList.toggle('projector', projector);
});
explorer.hash = true;
keepOffline();
if (panels) explorer.panels = panels;
