// SPDX-License-Identifier: MIT
#include "probust/passes/pool_first.h"

#include "probust/ops/append.h"

namespace probust {
namespace {

// Whether a window lies entirely in the padding: its maximum is then not a value of the image (kLargestOfNone).
bool has_empty_window(const Window& window) {
  const Shape output = window.output();
  for (std::size_t axis = 0; axis < output.size(); ++axis) {
    for (std::int64_t cell = 0; cell < output[axis]; ++cell) {
      bool empty = true;
      for (std::int64_t tap = 0; tap < window.kernel[axis]; ++tap) {
        const std::int64_t pixel = cell * window.stride[axis] - window.pad_low[axis] + tap * window.dilation[axis];
        empty = empty && (pixel < 0 || pixel >= window.image[axis]);
      }
      if (empty) return true;
    }
  }
  return false;
}

bool swaps(const Graph& graph, const std::vector<int>& uses, const Node& node) {
  if (node.op != Op::max_pool) return false;
  const ValueId image = node.inputs[0];
  return graph[image].op == Op::relu && uses[image] == 1 && !has_empty_window(std::get<Window>(node.attributes));
}

}  // namespace

Graph pool_first(const Graph& graph) {
  const std::vector<int> uses = use_counts(graph);
  Graph result;
  std::vector<ValueId> place;  // position of each value in the result
  std::vector<bool> dropped(graph.nodes.size(), false);
  for (const Node& node : graph.nodes) {
    if (swaps(graph, uses, node)) dropped[node.inputs[0]] = true;
  }
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    Node node = graph[id];
    if (dropped[id]) {
      place.push_back(place[node.inputs[0]]);  // the max_pool reads the operand of the relu
      continue;
    }
    for (ValueId& input : node.inputs) input = place[input];
    result.nodes.push_back(std::move(node));
    place.push_back(static_cast<ValueId>(result.nodes.size()) - 1);
    if (swaps(graph, uses, graph[id])) place.back() = append(result, Op::relu, {place.back()}, {}, graph[id].name);
  }
  for (const ValueId id : graph.outputs) result.outputs.push_back(place[id]);
  return result;
}

}  // namespace probust
