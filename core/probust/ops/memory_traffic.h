// SPDX-License-Identifier: MIT
#pragma once

#include "probust/graph/graph.h"

namespace probust {

/// Bytes of float32 that the operators of a graph read and write for one example if each operator runs separately. Constants,
/// inputs and reshapes are not counted.
double memory_traffic(const Graph& graph);

}  // namespace probust
