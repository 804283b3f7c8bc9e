// SPDX-License-Identifier: MIT
import 'katex/dist/katex.min.css';
import DefaultTheme from 'vitepress/theme-without-fonts';
import type { Theme } from 'vitepress';
import CppReference from './CppReference.vue';
import ExplorerLink from './ExplorerLink.vue';
import LiveExplorer from './LiveExplorer.vue';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('LiveExplorer', LiveExplorer);
    app.component('ExplorerLink', ExplorerLink);
    app.component('CppReference', CppReference);
  },
} satisfies Theme;
