// SPDX-License-Identifier: MIT
#pragma once

#include "probust/graph/graph.h"

namespace probust {

/// Replaces max_pool(relu(x)) by relu(max_pool(x)), which rectifies fewer elements, also in the derivative. The values do not
/// change; moments under noise (moments/) do, because they are approximations.
Graph pool_first(const Graph& graph);

}  // namespace probust
