// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cuda/gpu/convolution_graph.h"

namespace probust::cuda {

/// Plans a convolution with its epilogue and runs it on a few images. On random images, the result must agree with that of the
/// convolution alone followed by a kernel of our own; on images of NaN, a rectifier must keep NaN. Returns the reason why the
/// fused convolution must not be used; empty if it may be used.
std::string refusal_of(Device& device, cudnnHandle_t handle, ConvolutionGraphs& graphs, const Convolution& c);

}  // namespace probust::cuda
