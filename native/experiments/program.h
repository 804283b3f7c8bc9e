// SPDX-License-Identifier: MIT
#pragma once

/// The body of main of probust-reproduce, as probust_program is for probust.
extern "C" int probust_reproduce(int argc, char** argv);
