// SPDX-License-Identifier: MIT
#pragma once

#include "probust/graph/graph.h"

namespace probust {

/// (v [d + k]) -> f(T(x, z)), for a classifier f of one input and a map T: (x, z) -> x' of d and k elements, with v = [x, z].
Graph after_map(const Graph& classifier, const Graph& map);

}  // namespace probust
