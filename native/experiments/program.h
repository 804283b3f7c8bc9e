// SPDX-License-Identifier: MIT
#pragma once

/// What the main of probust-reproduce does, as probust_program does for probust.
extern "C" int probust_reproduce(int argc, char** argv);
