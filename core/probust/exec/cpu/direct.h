// SPDX-License-Identifier: MIT
#pragma once

#include "probust/exec/cpu/kernel.h"

namespace probust::cpu {

/// Convolutions and transposed convolutions with constant filters and one or two axes, computed from a padded copy of the image
/// instead of a matrix of patches: it is copied once, not once for each tap. No kernel if there are more axes.
Product make_direct_conv(const Graph& graph, const Node& node, std::vector<float> bias);

}  // namespace probust::cpu
