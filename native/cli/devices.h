// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "probust/exec/executor.h"

namespace probust::cli {

/// Whether the program can load a CUDA backend.
bool has_cuda();

/// What --device may name on this machine.
std::vector<std::string> devices();

/// A graph compiled for the device that was asked for: cpu, reference, cuda, cuda:N, cuda:all, or auto, which is a GPU where one
/// is. Throws Error{usage} for a name that means nothing, Error{resources} for a device that is not there.
std::unique_ptr<Executor> make_device(const Graph& graph, const Arguments& arguments, std::int64_t batch = 0);

}  // namespace probust::cli
