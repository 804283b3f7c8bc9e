// SPDX-License-Identifier: MIT
// threads/worker.mjs: like worker.ts, but for the module with threads, whose glue is in the same folder.
import createModule from './threads-glue.mjs';
import { serve } from './serve.js';

void serve(createModule);
