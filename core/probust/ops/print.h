// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "probust/graph/graph.h"

namespace probust {

/// One readable line per node: "%4 = conv(%2, %3) stride=[1, 1] ... : [1, 8, 14, 14] example  # /conv1/Conv".
std::string to_text(const Graph& graph);

}  // namespace probust
