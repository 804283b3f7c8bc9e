// SPDX-License-Identifier: MIT
#pragma once

#include "probust/exec/cpu/kernel.h"

namespace probust::cpu {

/// Convolutions and transposed convolutions with constant filters along one or two axes. They read a padded copy of the image
/// instead of a matrix of patches, so each pixel is copied once, not once per tap. The result has no kernel if there are more
/// axes.
Product make_direct_conv(const Graph& graph, const Node& node, std::vector<float> bias);

}  // namespace probust::cpu
