// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace probust {

/// [rows][columns] as [columns][rows]: between the order of programs, [elements][lanes], and that of tensors.
inline void transpose(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
  }
}

}  // namespace probust
