// SPDX-License-Identifier: MIT
#include "probust/passes/first_layer_split.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <vector>

#include "probust/autodiff/vjp.h"
#include "probust/passes/affine_prefix.h"
#include "probust/passes/pool_first.h"
#include "probust/passes/simplify.h"

namespace probust {
namespace {

// The transposed Jacobian c -> (d to / d from)ᵀ c as a graph whose only input is c. `from` is an input, and `to` must be affine
// in it.
Graph constant_pullback(const Graph& graph, ValueId from, ValueId to) {
  Graph pullback = vjp(graph, std::array{to}, std::array{from}).graph;
  pullback.outputs = {pullback.outputs.back()};
  pullback = simplify(pullback);
  const ValueId unread = pullback.inputs()[0];
  if (use_counts(pullback)[unread] > 0) throw std::logic_error("the derivative of an affine value is not constant");
  pullback.nodes.erase(pullback.nodes.begin() + unread);
  const auto renumber = [&](ValueId& id) { id -= id > unread ? 1 : 0; };
  for (Node& node : pullback.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), renumber);
  std::for_each(pullback.outputs.begin(), pullback.outputs.end(), renumber);
  return pullback;
}

}  // namespace

std::optional<FirstLayerSplit> split_first_layer(const Graph& classifier) {
  const Graph graph = pool_first(classifier);
  const std::vector<ValueId> affine = affine_values(graph);
  const ValueId x = affine.front();
  FirstLayerSplit split;
  ValueId z = kNoValue;
  std::int64_t least = element_count(graph[x].shape) / 2 + 1;
  for (const ValueId to : std::span(affine).subspan(1)) {
    const std::int64_t outputs = element_count(graph[to].shape);
    if (outputs >= least) continue;
    z = to;
    least = split.outputs = outputs;
  }
  if (z == kNoValue) return std::nullopt;
  split.backward = constant_pullback(graph, x, z);
  split.rest = simplify(vjp(graph, graph.outputs, std::array{z}).graph);
  split.forward = constant_pullback(split.backward, split.backward.inputs()[0], split.backward.outputs[0]);
  return split;
}

}  // namespace probust
