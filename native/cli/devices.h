// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "probust/exec/executor.h"

namespace probust::cli {

/// Whether the program can load a CUDA backend.
bool has_cuda();

/// What --device may name on this machine.
std::vector<std::string> devices();

/// What a device reaches at best, as a yardstick.
struct DeviceRates {
  std::string device;
  double product = 0, copy = 0;  ///< flop/s of a product of large matrices; bytes/s of a copy of memory
};

/// Those of the GPU that --device names, measured now; nothing for the processor. Throws as make_device does.
std::optional<DeviceRates> device_rates(const Arguments& arguments);

/// A graph compiled for the device that was asked for: cpu, reference, cuda, cuda:N, cuda:all, or auto, which is a GPU where one
/// is. Throws Error{usage} for a name that means nothing, Error{resources} for a device that is not there.
std::unique_ptr<Executor> make_device(const Graph& graph, const Arguments& arguments, std::int64_t batch = 0);

}  // namespace probust::cli
