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

/// The node that computes a tensor; null if none does.
inline const NodeProto* maker_of(const GraphProto& graph, const std::string& name) {
  const auto makes = [&](const NodeProto& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end();
  };
  const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(), makes);
  return name.empty() || node == graph.nodes.end() ? nullptr : &*node;
}

/// The deciding output of a model.
struct ChosenOutput {
  std::string name;
  ValueId value = kNoValue;  ///< several values of which the largest decides, or one number
  std::vector<std::string> notes{};
  bool integer = false;  ///< a label
};

/// What the choice needs from the import.
struct Outputs {
  const ModelProto& proto;
  const ImportOptions& options;
  Graph& graph;
  GraphLowering& body;
  std::function<Named(const std::string&)> lower;  ///< the value of a tensor for one example
};

/// Ranks all outputs: those followed by an ArgMax, a TopK, a comparison or a Softmax come first; then those with as many values
/// as the labels have classes, those with names about classes, and those that other candidates are not computed from. The scores
/// before a TopK replace it, and a copy of the input is never chosen. Throws Error{unsupported} listing the candidates and their
/// shapes if several remain, or none.
ChosenOutput choose_output(const Outputs& outputs);

/// The output or inner tensor that the options name. Throws Error{usage} if the model has none of that name, Error{unsupported}
/// if it cannot decide.
ChosenOutput named_output(const Outputs& outputs);

}  // namespace probust::onnx
