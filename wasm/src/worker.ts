// SPDX-License-Identifier: MIT
// The script of a worker. The page sends it the compiled module.
import createModule from './glue.mjs';
import { serve } from './serve.js';

void serve(createModule);
