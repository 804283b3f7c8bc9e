// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace probust::cuda {

/// How much memory all emulated devices have together, from now on: for tests of what happens when it ends.
void limit_memory(std::int64_t bytes);

}  // namespace probust::cuda
