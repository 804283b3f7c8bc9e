// SPDX-License-Identifier: MIT
#pragma once

/// Runs probust with main's arguments, and returns the exit status; called by main. It may be in a library of its own, which is
/// then installed once for each of several instruction sets.
extern "C" int probust_program(int argc, char** argv);
