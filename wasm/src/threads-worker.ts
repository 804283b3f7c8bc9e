// SPDX-License-Identifier: MIT
// threads/worker.mjs: like worker.ts, with the module with threads, whose glue is next to it.
import createModule from './threads-glue.mjs';
import { serve } from './serve.js';

void serve(createModule);
