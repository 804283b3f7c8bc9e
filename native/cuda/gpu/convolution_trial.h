// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cuda/gpu/convolution_graph.h"

namespace probust::cuda {

/// Plans a convolution with its epilogue and runs it on a few images: of random numbers, where it must agree with the convolution
/// alone and the epilogue by a kernel of our own, and of NaN, which a rectifier must keep. Empty if it may be used, otherwise why
/// not.
std::string refusal_of(Device& device, cudnnHandle_t handle, ConvolutionGraphs& graphs, const Convolution& c);

}  // namespace probust::cuda
