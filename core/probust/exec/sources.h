// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/graph/graph.h"

// Where elements come from: what executors know of operators that move elements or look at them through windows.
namespace probust {

/// For an operator of one operand that only moves elements: which element of the operand each of the result's is, -1 for zeros.
/// It is asked of the operator itself, whose reference evaluation sends the elements' numbers through.
std::vector<std::int64_t> sources_of(Op op, const Attributes& attributes, const Shape& from, const Shape& to);

/// Which element of an operand each element of the shape that it is broadcast to reads.
std::vector<std::int64_t> broadcast_sources(const Shape& from, const Shape& to);

/// The image cells of each window, window by window, in the order of the taps; those on the padding left out.
struct Windows {
  std::vector<std::int64_t> begin;  ///< [windows + 1] into cells
  std::vector<std::int64_t> cells;
  std::int64_t image = 0;  ///< cells of an image
  bool overlap = false;    ///< some cell belongs to two windows

  std::int64_t count() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::span<const std::int64_t> of(std::int64_t window) const {
    return std::span(cells).subspan(begin[window], begin[window + 1] - begin[window]);
  }
};

Windows windows_of(const Window& window);

}  // namespace probust
