// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "probust/graph/graph.h"

// A classifier often begins with an affine layer z(x) = W x + b. If points x_i share draws e_j of the noise, then z(x_i + e_j)
// = z(x_i) + W e_j. This takes one product per point and one per draw, instead of one per noisy sample.
namespace probust {

struct AffinePrefix {
  Graph first;  ///< x -> z, flattened
  Graph rest;   ///< z -> f(x)
};

/// The input of a classifier, and the values after it that are affine in it, in order. Each is read only by the node that
/// computes the next value, and that node reads nothing else that varies. Callers apply pool_first beforehand.
std::vector<ValueId> affine_values(const Graph& classifier);

/// Splits a classifier after its longest affine prefix. Empty if there is none, or if the split would save less than 1% of the
/// classifier's work.
std::optional<AffinePrefix> split_affine_prefix(const Graph& classifier);

}  // namespace probust
