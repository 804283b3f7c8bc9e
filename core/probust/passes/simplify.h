// SPDX-License-Identifier: MIT
#pragma once

#include "probust/graph/graph.h"

namespace probust {

/// The same function with less work: constants are folded; scales are folded into constant filters and weights, so that a
/// BatchNormalization disappears into its neighbour; constant shifts are merged; reshapes and transposes that cancel are removed;
/// dead nodes are dropped. Inputs stay, in order. Values may change by rounding where products of constants are formed.
Graph simplify(const Graph& graph);

}  // namespace probust
