// SPDX-License-Identifier: MIT
#pragma once

#include "probust/graph/graph.h"

namespace probust {

/// Bytes of float32 that a graph's operators read and write for one example if each does so by itself; constants, inputs and
/// reshapes not counted.
double traffic(const Graph& graph);

}  // namespace probust
