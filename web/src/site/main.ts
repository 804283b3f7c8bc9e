// SPDX-License-Identifier: MIT
import '../element/define.js';
