// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "probust/exec/batch_device.h"

namespace probust {

/// Compiles a graph for the CPU.
using Compile = std::unique_ptr<Program> (*)(const Graph&);

/// The CPU as a device with one worker per thread, for a classifier and a function that compiles it. Error{resources} if a single
/// example does not fit in memory.
std::unique_ptr<BatchDevice> make_host_device(std::string_view name, Compile compile, const Graph& classifier,
                                              const ExecutorOptions& options);

/// make_host_device for a forward program and an optional gradient program (make_forward_executor).
std::unique_ptr<BatchDevice> make_forward_device(std::string_view name, std::unique_ptr<Program> forward,
                                                 std::unique_ptr<Program> gradient, const Shape& point, std::int64_t classes,
                                                 const ExecutorOptions& options);

}  // namespace probust
