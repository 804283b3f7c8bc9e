// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/graph/graph.h"

// Gather offsets: the source of each element of a result, for operators that move elements or use windows.
namespace probust {

/// For an operator with one operand that only moves elements: the operand's element for each element of the result, -1 for
/// zeros. The offsets are found by running the operator's reference evaluation on element numbers.
std::vector<std::int64_t> gather_offsets(Op op, const Attributes& attributes, const Shape& from, const Shape& to);

/// The operand's element for each element of the shape to which it is broadcast.
std::vector<std::int64_t> broadcast_offsets(const Shape& from, const Shape& to);

/// The image cells of each window, window by window, in the order of the taps, without cells in the padding.
struct Windows {
  std::vector<std::int64_t> begin;  ///< [windows + 1] the position in `cells` at which each window begins
  std::vector<std::int64_t> cells;
  std::int64_t image = 0;  ///< number of cells of an image
  bool overlap = false;    ///< whether some cell belongs to two windows

  std::int64_t count() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::span<const std::int64_t> of(std::int64_t window) const {
    return std::span(cells).subspan(begin[window], begin[window + 1] - begin[window]);
  }
};

Windows windows_of(const Window& window);

}  // namespace probust
