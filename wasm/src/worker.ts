// SPDX-License-Identifier: MIT
// The worker's script. The page sends it the compiled module.
import createModule from './glue.mjs';
import { serve } from './serve.js';

void serve(createModule);
