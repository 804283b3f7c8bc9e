// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "cli/arguments.h"
#include "probust/exec/devices.h"

namespace probust::cli {

/// Whether the run is on the processor although there is another device, such as a GPU.
bool leaves_device_idle(const Arguments& arguments);

/// A graph compiled for the requested device. Throws as make_executor returns it.
std::unique_ptr<Executor> make_device(const Graph& graph, const Arguments& arguments, std::int64_t batch = 0);

}  // namespace probust::cli
