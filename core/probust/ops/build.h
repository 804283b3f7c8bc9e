// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "probust/ops/append.h"

// Short names for appending nodes, so that derivative rules and lowerings read like formulas. Each function returns the value
// of the new node; shapes are those of one example.
namespace probust::build {

ValueId constant(Graph& g, float value);

inline ValueId negate(Graph& g, ValueId x) { return append(g, Op::negate, {x}); }
inline ValueId add(Graph& g, ValueId a, ValueId b) { return append(g, Op::add, {a, b}); }
inline ValueId subtract(Graph& g, ValueId a, ValueId b) { return append(g, Op::subtract, {a, b}); }
inline ValueId multiply(Graph& g, ValueId a, ValueId b) { return append(g, Op::multiply, {a, b}); }
inline ValueId divide(Graph& g, ValueId a, ValueId b) { return append(g, Op::divide, {a, b}); }

/// op(a) op(b) over the last two axes. Leading axes are broadcast.
inline ValueId matmul(Graph& g, ValueId a, ValueId b, bool transpose_a = false, bool transpose_b = false) {
  return append(g, Op::matmul, {a, b}, MatmulAttributes{transpose_a, transpose_b});
}

/// Sums over `axes`, whose extents become 1.
ValueId reduce_sum(Graph& g, ValueId x, std::vector<std::int64_t> axes);

/// Repeats x along axes of extent 1 and along new leading axes to get `shape`. Returns x itself if nothing changes.
ValueId broadcast(Graph& g, ValueId x, const Shape& shape);

/// The transpose of broadcast: sums x to `shape`. Returns x itself if nothing changes.
ValueId sum_to(Graph& g, ValueId x, const Shape& shape);

/// The same elements in a different shape. Returns x itself if nothing changes.
ValueId reshape(Graph& g, ValueId x, const Shape& shape);

/// Output axis i is input axis permutation[i]. Returns x itself if nothing changes.
ValueId transpose(Graph& g, ValueId x, std::vector<std::int64_t> permutation);

}  // namespace probust::build
