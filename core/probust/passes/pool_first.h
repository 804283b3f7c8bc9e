// SPDX-License-Identifier: MIT
#pragma once

#include "probust/graph/graph.h"

namespace probust {

/// The same function with max_pool(relu(x)) as relu(max_pool(x)), which rectifies fewer elements, here and in the derivative. The
/// values are the same; moments under noise (moments/) are not, since they are approximations.
Graph pool_first(const Graph& graph);

}  // namespace probust
