// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cuda/gpu/convolution_graph.h"

namespace probust::cuda {

/// Plans a convolution with its epilogue and runs it on a few images. On random images, it must agree with the convolution
/// alone followed by a kernel of our own; on images of NaN, a rectifier must keep NaN. Returns an empty text if it may be used,
/// otherwise the reason against it.
std::string refusal_of(Device& device, cudnnHandle_t handle, ConvolutionGraphs& graphs, const Convolution& c);

}  // namespace probust::cuda
