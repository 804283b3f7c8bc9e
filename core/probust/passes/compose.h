// SPDX-License-Identifier: MIT
#pragma once

#include "probust/graph/graph.h"

namespace probust {

/// The graph v -> f(T(x, z)) with v = [x, z], for a classifier f of one input and a map T: (x, z) -> x', where x has d
/// and z has k elements; v has d + k.
Graph after_map(const Graph& classifier, const Graph& map);

}  // namespace probust
