// SPDX-License-Identifier: MIT
#pragma once

/// Runs probust-reproduce with main's arguments, and returns the exit status; called by main.
extern "C" int probust_reproduce(int argc, char** argv);
