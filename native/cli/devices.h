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

/// Whether CUDA is compiled in, and how many devices there are or why there is none, in words.
std::string cuda_status();

/// Whether the run is on the processor although there is a GPU.
bool leaves_gpu_idle(const Arguments& arguments);

/// The valid names for --device on this machine.
std::vector<std::string> devices();

/// What --device takes, as in a hint: "cpu, reference, cuda, ...".
std::string known_devices();

/// A device's best rates, for comparison.
struct DeviceRates {
  std::string device;
  double product = 0, copy = 0;  ///< flop/s of a product of large matrices; bytes/s of a memory copy
};

/// Measures the GPU that --device names; nothing for the CPU. Throws as make_device does.
std::optional<DeviceRates> device_rates(const Arguments& arguments);

/// A graph compiled for the requested device: cpu, reference, cuda, cuda:N, cuda:all, or auto, which is a GPU if there is one.
/// Throws Error{usage} for an unknown name, Error{resources} for a device that is not present.
std::unique_ptr<Executor> make_device(const Graph& graph, const Arguments& arguments, std::int64_t batch = 0);

}  // namespace probust::cli
