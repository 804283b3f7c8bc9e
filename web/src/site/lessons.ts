// SPDX-License-Identifier: MIT
// The page of the lessons.
import '../lessons/probust-lessons.js';
import { keepOffline } from './offline.js';

keepOffline();
