// SPDX-License-Identifier: MIT
#pragma once

#include "cli/arguments.h"
#include "probust/exec/devices.h"

namespace probust::cli {

/// Whether the run is on the processor although there is another device, such as a GPU.
bool leaves_device_idle(const Arguments& arguments);

/// What the device options say of execution; the device's warnings are printed.
ExecutorOptions execution_options(const Arguments& arguments);

}  // namespace probust::cli
