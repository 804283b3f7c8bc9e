// SPDX-License-Identifier: MIT
#include "cli/program.h"

#include "cli/command_line.h"

int probust_program(int argc, char** argv) { return probust::cli::run(argc, argv); }
