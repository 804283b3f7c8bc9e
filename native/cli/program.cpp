// SPDX-License-Identifier: MIT
#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/program.h"
#include "modules/device_modules.h"

int probust_program(int argc, char** argv) {
#ifdef M_MMAP_THRESHOLD
  // Otherwise, after one large block is freed, glibc keeps later freed blocks of that size: the copies of weights made at import.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
#endif
  probust::use_device_modules();
  probust::cli::end_on_signals();
  return probust::cli::run(argc, argv);
}
