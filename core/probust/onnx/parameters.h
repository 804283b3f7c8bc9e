// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "probust/onnx/wire.h"

namespace probust::onnx {

/// The number of parameters that a model stores: the elements of floating-point tensors, and of integer tensors that a
/// DequantizeLinear reads. Initializers and Constant nodes count, in the graph, in branches and in functions. Values computed
/// from others (Identity, DequantizeLinear, folded constants) are not counted again.
std::int64_t count_parameters(const ModelProto& model);

}  // namespace probust::onnx
