// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "probust/onnx/wire.h"

namespace probust::onnx {

/// The number of parameters that a model stores: elements of floating-point tensors, and of integer ones that a
/// DequantizeLinear reads, whether they are initializers or Constant nodes, of the graph, of branches or of functions. What is
/// computed from others (Identity, DequantizeLinear, folded constants) counts once, where it is stored.
std::int64_t count_parameters(const ModelProto& model);

}  // namespace probust::onnx
