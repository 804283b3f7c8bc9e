// SPDX-License-Identifier: MIT
#pragma once

/// The command line: what main does. A library of its own where it is installed for several instruction sets.
extern "C" int probust_program(int argc, char** argv);
