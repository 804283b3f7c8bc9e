// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

#include "probust/exec/executor.h"

namespace probust {

/// Makes an executor of f(T(x, z)) for the map T, with points [x, z].
using Compose = std::function<std::unique_ptr<Executor>(const NoiseMap&, Progress*)>;

/// `plain`, an executor of f, with an Executor::after that works. It owns one executor per map, which lives as long as it does.
/// When a different map is requested, the memory that the last map's executor keeps for reuse is freed.
std::unique_ptr<Executor> composable(std::unique_ptr<Executor> plain, Compose compose);

}  // namespace probust
