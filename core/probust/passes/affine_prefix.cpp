// SPDX-License-Identifier: MIT
#include "probust/passes/affine_prefix.h"

#include <algorithm>
#include <utility>

#include "probust/ops/append.h"
#include "probust/ops/build.h"
#include "probust/ops/op.h"
#include "probust/passes/pool_first.h"
#include "probust/passes/simplify.h"

namespace probust {
namespace {

// The cost in flops, per noisy sample, of moving one element of z by a draw, and of drawing one element of x.
constexpr double kFlopsToMove = 80;
constexpr double kFlopsToDraw = 64;
constexpr double kLeastShare = 0.01;  // share of the classifier's work that must be saved

// Whether a node is affine in one operand and reads it only once.
bool affine_in(const Graph& graph, const Node& node, ValueId operand) {
  const bool alone = std::all_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId input) { return input == operand || graph[input].extent == Extent::constant; });
  const auto position = std::find(node.inputs.begin(), node.inputs.end(), operand) - node.inputs.begin();
  return alone && definition(node.op).traits.affine_in(static_cast<std::size_t>(position));
}

Graph up_to(Graph graph, ValueId z) {
  graph.outputs = {build::reshape(graph, z, {element_count(graph[z].shape)})};
  return simplify(graph);
}

// The part of the graph after z. All varying values before z belong to the chain that ends at z, so this part needs only z.
Graph from(const Graph& graph, ValueId z) {
  Graph rest;
  std::vector<ValueId> now(graph.nodes.size(), kNoValue);  // position of each value in `rest`
  now[z] =
      build::reshape(rest, append_input(rest, {element_count(graph[z].shape)}, Extent::example, graph[z].name), graph[z].shape);
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    if (id <= z && graph[id].extent != Extent::constant) continue;
    Node node = graph[id];
    for (ValueId& input : node.inputs) input = now[input];
    now[id] = static_cast<ValueId>(rest.nodes.size());
    rest.nodes.push_back(std::move(node));
  }
  for (const ValueId output : graph.outputs) rest.outputs.push_back(now[output]);
  return simplify(rest);
}

// The operations saved per noisy sample if z is not computed from x.
double saved(const AffinePrefix& split, const Graph& graph, ValueId x, ValueId z) {
  const auto elements = [&](ValueId id) { return static_cast<double>(element_count(graph[id].shape)); };
  return flops(split.first) + kFlopsToDraw * elements(x) - kFlopsToMove * elements(z);
}

}  // namespace

std::vector<ValueId> affine_values(const Graph& classifier) {
  const std::vector<ValueId> readers = only_readers(classifier);
  std::vector<ValueId> values{classifier.inputs()[0]};
  for (ValueId next = readers[values[0]]; next != kNoValue && affine_in(classifier, classifier[next], values.back());
       next = readers[next])
    values.push_back(next);
  return values;
}

std::optional<AffinePrefix> split_affine_prefix(const Graph& classifier) {
  const Graph graph = pool_first(classifier);
  const std::vector<ValueId> affine = affine_values(graph);
  const ValueId x = affine.front(), z = affine.back();
  if (z == x || z == graph.outputs[0]) return std::nullopt;
  AffinePrefix split{up_to(graph, z), from(graph, z)};
  if (saved(split, graph, x, z) < kLeastShare * flops(classifier)) return std::nullopt;
  return split;
}

}  // namespace probust
