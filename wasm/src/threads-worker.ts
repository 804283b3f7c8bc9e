// SPDX-License-Identifier: MIT
// threads/worker.mjs: as worker.ts, around the module with threads, whose glue lies beside it.
import createModule from './threads-glue.mjs';
import { serve } from './serve.js';

void serve(createModule);
