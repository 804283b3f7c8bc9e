// SPDX-License-Identifier: MIT
#include "probust/graph/graph.h"

#include <algorithm>

namespace probust {

std::vector<ValueId> Graph::inputs() const {
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op == Op::input) ids.push_back(static_cast<ValueId>(i));
  }
  return ids;
}

bool handles_missing(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op == Op::tree_ensemble || (node.op == Op::greater_equal && node.inputs[0] == node.inputs[1]);
  });
}

const Tensor& constant_value(const Graph& graph, ValueId id) { return *std::get<ConstantData>(graph[id].attributes).tensor; }

std::vector<int> use_counts(const Graph& graph) {
  std::vector<int> counts(graph.nodes.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) ++counts[id];
  }
  for (const ValueId id : graph.outputs) ++counts[id];
  return counts;
}

std::vector<ValueId> only_readers(const Graph& graph) {
  const std::vector<int> uses = use_counts(graph);
  std::vector<ValueId> reader(graph.nodes.size(), kNoValue);
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    for (const ValueId input : graph[id].inputs) reader[input] = id;
  }
  for (std::size_t id = 0; id < uses.size(); ++id) {
    if (uses[id] != 1) reader[id] = kNoValue;
  }
  return reader;
}

}  // namespace probust
