// SPDX-License-Identifier: MIT
#pragma once

/// The program, which main calls. It can be in a library of its own, which is then installed for several instruction sets.
extern "C" int probust_program(int argc, char** argv);
