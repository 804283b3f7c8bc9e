// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

#include "probust/exec/executor.h"

namespace probust {

/// Creates an executor of f(T(x, z)) for points [x, z] and the map T.
using Compose = std::function<std::unique_ptr<Executor>(const NoiseMap&, Progress*)>;

/// Wraps `plain`, an executor of f, so that Executor::after works. The result owns one executor per map, each of which lives as
/// long as the result. When a different map is requested, the memory that the previous map's executor keeps for reuse is freed.
std::unique_ptr<Executor> composable(std::unique_ptr<Executor> plain, Compose compose);

}  // namespace probust
