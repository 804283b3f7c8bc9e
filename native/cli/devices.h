// SPDX-License-Identifier: MIT
#pragma once

#include "cli/arguments.h"
#include "probust/exec/devices.h"

namespace probust::cli {

/// Whether the run uses the CPU although another device, such as a GPU, is available.
bool leaves_device_idle(const Arguments& arguments);

/// Converts device options to execution options, and prints the device's warnings.
ExecutorOptions execution_options(const Arguments& arguments);

}  // namespace probust::cli
