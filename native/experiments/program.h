// SPDX-License-Identifier: MIT
#pragma once

/// The program probust-reproduce, which its main calls, as probust_program is the program probust.
extern "C" int probust_reproduce(int argc, char** argv);
