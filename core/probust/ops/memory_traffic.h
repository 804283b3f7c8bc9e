// SPDX-License-Identifier: MIT
#pragma once

#include "probust/graph/graph.h"

namespace probust {

/// Bytes of float32 that a graph's operators read and write for one example if each runs separately, without constants, inputs
/// and reshapes.
double memory_traffic(const Graph& graph);

}  // namespace probust
