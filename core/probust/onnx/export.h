// SPDX-License-Identifier: MIT
//
// Converts graphs to ONNX, for the networks of train/, so that they run on any ONNX runtime.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probust/base/error.h"
#include "probust/graph/graph.h"

namespace probust {

/// Keys and values for a model's metadata_props.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// A classifier (one input of any shape, one output [C]) as the bytes of an ONNX model of opset 13 with float32 weights: input
/// "x" [batch, ...], output "logits" [batch, C], with a symbolic batch. Importing it gives the same function.
/// Error{unsupported} if it has operators other than convolutions, max pooling, products, sums, softmax, transposes, reshapes and
/// elementwise operators, or values whose first extent is not that of one example.
Result<std::string> export_onnx(const Graph& classifier, std::string_view name, const Metadata& metadata = {});

/// export_onnx with trees as a TreeEnsembleRegressor of ai.onnx.ml 1. A separate function, because browsers export no trees
/// and need not download this code.
Result<std::string> export_onnx_with_trees(const Graph& classifier, std::string_view name, const Metadata& metadata = {});

}  // namespace probust
