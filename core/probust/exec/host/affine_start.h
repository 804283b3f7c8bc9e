// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "probust/graph/graph.h"

// A classifier often begins with an affine layer z(x) = W x + b. For copies x_i + e_j of points that share draws of the noise,
// z(x_i + e_j) = z(x_i) + W e_j: one product per point and one per draw, instead of one per copy.
namespace probust {

struct AffineStart {
  Graph first;  ///< x -> z, flattened
  Graph rest;   ///< z -> f(x)
};

/// Splits a classifier after its longest affine start. Returns nothing if there is none, or if the split would save less than 1%
/// of the classifier's work.
std::optional<AffineStart> split_affine_start(const Graph& classifier);

}  // namespace probust
