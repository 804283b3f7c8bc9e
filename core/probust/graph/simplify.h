// SPDX-License-Identifier: MIT
#pragma once

#include "probust/graph/graph.h"

namespace probust {

/// The same function with less work: constants folded; scales folded into constant filters and weights, so that a
/// BatchNormalization disappears into its neighbour; constant shifts joined; reshapes and transposes that undo each other
/// removed; dead nodes dropped. Inputs stay, in order. Values may change by rounding where products of constants are formed.
Graph simplify(const Graph& graph);

}  // namespace probust
