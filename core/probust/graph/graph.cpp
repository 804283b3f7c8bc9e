// SPDX-License-Identifier: MIT
#include "probust/graph/graph.h"

namespace probust {

std::vector<ValueId> Graph::inputs() const {
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op == Op::input) ids.push_back(static_cast<ValueId>(i));
  }
  return ids;
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

}  // namespace probust
