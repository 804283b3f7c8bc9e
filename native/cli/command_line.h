// SPDX-License-Identifier: MIT
#pragma once

namespace probust::cli {

/// Parses main's arguments, runs the command, and returns the exit status. Prints errors to stderr and throws nothing.
int run(int argc, char** argv);

}  // namespace probust::cli
