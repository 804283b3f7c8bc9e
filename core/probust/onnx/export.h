// SPDX-License-Identifier: MIT
//
// Graph -> ONNX, for fully connected networks: classifiers trained here run wherever ONNX does.
#pragma once

#include <string>
#include <string_view>

#include "probust/base/error.h"
#include "probust/graph/graph.h"

namespace probust {

/// A classifier (one input of any shape, one output [C]) as the bytes of an ONNX model of opset 13 with float32 weights: input
/// "x" [batch, ...], output "logits" [batch, C], with the batch left open. Importing it gives the same function.
/// Error{unsupported} if it has anything but flat vectors after the input, products with constant matrices and elementwise
/// operators.
Result<std::string> export_onnx(const Graph& classifier, std::string_view name);

}  // namespace probust
