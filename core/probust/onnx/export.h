// SPDX-License-Identifier: MIT
//
// Graph -> ONNX, for what full layers are made of: classifiers that were trained here run wherever ONNX does.
#pragma once

#include <string>
#include <string_view>

#include "probust/base/error.h"
#include "probust/graph/graph.h"

namespace probust {

/// A classifier (one input of any shape, one output [C]) as the bytes of an ONNX model of opset 13 with float32 weights: input
/// "x" [batch, ...], output "logits" [batch, C], the batch left open. Importing it gives the same function. Error{unsupported}
/// for anything but flat vectors behind the input, matrix products with constants and elementwise operators.
Result<std::string> export_onnx(const Graph& classifier, std::string_view name);

}  // namespace probust
