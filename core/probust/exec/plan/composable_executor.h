// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

#include "probust/exec/executor.h"

namespace probust {

/// Makes an executor of f(T(x, z)) for the map T, with points [x, z].
using Compose = std::function<std::unique_ptr<Executor>(const NoiseMap&, Progress*)>;

/// `plain`, an executor of f, with Executor::after. It keeps one executor for each map until it ends, and frees the memory that
/// the others keep for reuse when another map's turn comes.
std::unique_ptr<Executor> composable(std::unique_ptr<Executor> plain, Compose compose);

}  // namespace probust
