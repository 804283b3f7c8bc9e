// SPDX-License-Identifier: MIT
#pragma once

/// The command line, called by main. It is a separate library, so that it can be installed for several instruction sets.
extern "C" int probust_program(int argc, char** argv);
