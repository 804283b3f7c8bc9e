// SPDX-License-Identifier: MIT
#pragma once

#include "probust/graph/graph.h"

namespace probust {

/// Computes the same function with less work: folds constants; folds scales into constant filters and weights, so that a
/// BatchNormalization disappears; merges constant shifts; removes reshapes and transposes that cancel; and removes dead nodes.
/// Inputs keep their order. Products of constants may change values by rounding.
Graph simplify(const Graph& graph);

}  // namespace probust
