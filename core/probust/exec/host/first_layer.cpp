// SPDX-License-Identifier: MIT
#include "probust/exec/host/first_layer.h"

#include <algorithm>
#include <array>

#include "probust/autodiff/vjp.h"
#include "probust/passes/pool_first.h"
#include "probust/passes/simplify.h"

namespace probust {
namespace {

// Whether only this operand of the node varies.
bool varies_with_alone(const Graph& graph, const Node& node, ValueId operand) {
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return input == operand || graph[input].extent == Extent::constant; });
}

// The pull-back c -> (d to / d from)ᵀ c as a graph with the input c alone. Nothing if it depends on `from`, an input.
std::optional<Graph> constant_pullback(const Graph& graph, ValueId from, ValueId to) {
  Graph pullback = vjp(graph, std::array{to}, std::array{from}).graph;
  pullback.outputs = {pullback.outputs.back()};
  pullback = simplify(pullback);
  const ValueId unread = pullback.inputs()[0];
  if (use_counts(pullback)[unread] > 0) return std::nullopt;
  pullback.nodes.erase(pullback.nodes.begin() + unread);
  const auto renumber = [&](ValueId& id) { id -= id > unread ? 1 : 0; };
  for (Node& node : pullback.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), renumber);
  std::for_each(pullback.outputs.begin(), pullback.outputs.end(), renumber);
  return pullback;
}

}  // namespace

std::optional<FirstLayer> split_first_layer(const Graph& classifier) {
  const Graph graph = pool_first(classifier);
  const ValueId x = graph.inputs()[0];
  const std::vector<ValueId> readers = only_readers(graph);
  FirstLayer first;
  ValueId z = kNoValue;
  std::int64_t least = element_count(graph[x].shape) / 2 + 1;
  for (ValueId from = x, to = readers[x]; to != kNoValue && varies_with_alone(graph, graph[to], from);
       from = to, to = readers[to]) {
    const std::int64_t outputs = element_count(graph[to].shape);
    if (outputs >= least) continue;
    auto backward = constant_pullback(graph, x, to);
    if (!backward) break;
    z = to;
    least = first.outputs = outputs;
    first.backward = *std::move(backward);
  }
  if (z == kNoValue) return std::nullopt;
  first.rest = simplify(vjp(graph, graph.outputs, std::array{z}).graph);
  first.forward = *constant_pullback(first.backward, first.backward.inputs()[0], first.backward.outputs[0]);
  return first;
}

}  // namespace probust
