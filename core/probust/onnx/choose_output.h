// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "probust/onnx/decision.h"
#include "probust/onnx/import.h"
#include "probust/onnx/lower/lower_graph.h"

namespace probust::onnx {

/// The node that computes a tensor; null if there is none.
inline const NodeProto* maker_of(const GraphProto& graph, const std::string& name) {
  const auto makes = [&](const NodeProto& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end();
  };
  const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(), makes);
  return name.empty() || node == graph.nodes.end() ? nullptr : &*node;
}

/// The output that determines the class.
struct ChosenOutput {
  std::string name;
  ValueId value = kNoValue;  ///< several values, of which the largest decides, or one number
  std::vector<std::string> notes{};
  bool integer = false;  ///< whether it is a label
};

/// The data from the import that are needed to choose an output.
struct Outputs {
  const ModelProto& proto;
  const ImportOptions& options;
  Graph& graph;
  GraphLowering& body;
  std::function<Named(const std::string&)> lower;  ///< the value of a tensor for one example
};

/// Ranks all outputs. Those followed by an ArgMax, a TopK, a comparison or a Softmax come first; then those with as many values
/// as the data have classes, those whose names suggest classes, and those from which no other candidate is computed. Outputs of a
/// TopK are replaced by its input, and a copy of the input is never chosen. Throws Error{unsupported} listing the candidates and
/// their shapes if several or none remain.
ChosenOutput choose_output(const Outputs& outputs);

/// The output or inner tensor that the options name. Throws Error{usage} if the model has none of that name, Error{unsupported}
/// if it cannot determine a class.
ChosenOutput named_output(const Outputs& outputs);

}  // namespace probust::onnx
