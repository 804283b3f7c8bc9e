// SPDX-License-Identifier: MIT
// Winograd's convolution (Lavin, Gray, "Fast Algorithms for Convolutional Neural Networks", 2016): 3x3 filters, stride 1. A
// tile of m x m outputs depends on (m + 2) x (m + 2) inputs. After linear transformations of inputs and filters, each of the (m +
// 2)^2 coefficients of a tile is a sum of products over channels. This takes 2.25 multiplications per output and channel with m =
// 4, and 4 with m = 2, instead of 9.
#pragma once

#include "probust/exec/cpu/kernel.h"

namespace probust::cpu {

/// A convolution or transposed convolution with a constant filter. The result has no kernel if the algorithm does not apply or
/// is not faster.
Product make_winograd_conv(const Graph& graph, const Node& node, const std::vector<float>& bias);

}  // namespace probust::cpu
