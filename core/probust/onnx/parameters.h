// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "probust/onnx/wire.h"

namespace probust::onnx {

/// The number of parameters that a model stores: elements of floating-point tensors, and of integer tensors read by a
/// DequantizeLinear, whether initializers or Constant nodes, in the graph, in branches or in functions. Values computed from
/// others (Identity, DequantizeLinear, folded constants) are not counted again.
std::int64_t count_parameters(const ModelProto& model);

}  // namespace probust::onnx
