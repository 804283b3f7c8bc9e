// SPDX-License-Identifier: MIT
//
// Plane sections through the input space: the decision regions around a point.
#pragma once

#include <cstdint>
#include <vector>

#include "probust/exec/executor.h"

namespace probust {

/// The plane x + s u + t v over a square grid of s and t.
struct SlicePlane {
  std::vector<double> u, v;      ///< [d] two directions
  double reach = 1;              ///< s and t run from -reach to reach
  std::int64_t resolution = 64;  ///< points per side
};

/// Predictions on the grid, row by row: element [row * resolution + column] is at s = -reach + 2 reach column / (resolution -
/// 1), and t depends on the row in the same way.
struct Slice {
  std::int64_t resolution = 0;
  std::vector<std::int64_t> predicted;  ///< -1 if a logit is NaN
  /// Margin of the target over its strongest rival: zero on the boundary, NaN if a logit is NaN.
  std::vector<double> margin;
};

/// Two orthonormal directions at point i: the gradient of the smallest margin at x, and the part of the next margin's gradient
/// that is orthogonal to it (or any orthogonal direction if that is zero).
Result<SlicePlane> margin_plane(Executor& executor, const Points& points, std::int64_t i, double reach, std::int64_t resolution);

/// Makes the given directions orthonormal; u keeps its direction. Throws Error{usage} if they are parallel, zero or do not have
/// d elements.
SlicePlane orthonormal(const SlicePlane& plane);

/// Error{usage} if the plane does not fit, Error{resources} beyond 4096 points per side.
Result<Slice> decision_slice(Executor& executor, const Points& points, std::int64_t i, const SlicePlane& plane);

}  // namespace probust
