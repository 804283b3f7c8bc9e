// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "probust/exec/lanes.h"

namespace probust {

/// Compiles a graph for the processor.
using Compile = std::unique_ptr<Program> (*)(const Graph&);

/// Lanes on this machine's processor, one worker per thread, for a classifier and a way to compile it. Error{resources} if a
/// single example does not fit the memory.
std::unique_ptr<Lanes> make_host_lanes(std::string_view name, Compile compile, const Graph& classifier,
                                       const ExecutorOptions& options);

/// Lanes for a forward program and, if it is not null, one of gradients (make_forward_executor).
std::unique_ptr<Lanes> make_forward_lanes(std::string_view name, std::unique_ptr<Program> forward,
                                          std::unique_ptr<Program> gradient, Shape point, std::int64_t classes,
                                          const ExecutorOptions& options);

}  // namespace probust
