// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "probust/graph/graph.h"

// A classifier often begins with an affine layer z(x) = W x + b with few outputs. The gradient of an average over noisy samples
// of x is Wᵀ times the average of the gradients with respect to z. So one product with Wᵀ per average is enough, instead of one
// per sample; for a dense network on images, these products are most of the work of a backward pass.
namespace probust {

struct FirstLayerSplit {
  std::int64_t outputs = 0;  ///< w, the size of z
  Graph rest;                ///< (x, c [C]) -> (f(x), the gradient of cᵀ f with respect to z); c is a seeded input
  Graph forward;             ///< e -> W e; e is a seeded input
  Graph backward;            ///< c [w] -> Wᵀ c; c is a seeded input
};

/// Empty if there is no such layer with at most half as many outputs as inputs.
std::optional<FirstLayerSplit> split_first_layer(const Graph& classifier);

}  // namespace probust
