// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

namespace probust {

/// Transposes [rows][columns] to [columns][rows]. Converts between the layout of programs, [elements][lanes], and that of
/// tensors.
inline void transpose(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  constexpr std::int64_t kTogether = 16;  // 16 floats are one cache line, which is written whole
  for (std::int64_t first = 0; first < rows; first += kTogether) {
    const std::int64_t last = std::min(rows, first + kTogether);
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t r = first; r < last; ++r) to[c * rows + r] = from[r * columns + c];
    }
  }
}

}  // namespace probust
