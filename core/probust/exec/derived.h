// SPDX-License-Identifier: MIT
#pragma once

#include "probust/graph/graph.h"

// The graphs that an executor makes of a classifier f: R^d -> R^C. Both throw Error as the transforms do.
namespace probust {

/// (x, seed c [C]) -> (f(x), J(x)ᵀ c), the seed seeded.
Graph gradient_graph(const Graph& classifier);

/// (x, variances v [d], seed c [C]) -> (E f, its gradient by x, pulled back from c) for x + noise of variances v, by moment
/// propagation (moments/moments.h).
Graph smoothed_gradient_graph(const Graph& classifier);

}  // namespace probust
