// SPDX-License-Identifier: MIT
#include "cli/program.h"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include "cli/command_line.h"

namespace {

/// Keeps freed arrays in the process. Otherwise each block of Jacobians gets fresh pages, and on virtual machines their page
/// faults cost several times the arithmetic (cifar10_resnet_2b, 64 points: 650 us a point instead of 190).
void keep_freed_memory() {
#ifdef M_TRIM_THRESHOLD                 // glibc
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest allowed
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

}  // namespace

int probust_program(int argc, char** argv) {
  keep_freed_memory();
  return probust::cli::run(argc, argv);
}
