// SPDX-License-Identifier: MIT
#include "probust/autodiff/vjp.h"

#include <algorithm>

#include "probust/ops/build.h"
#include "probust/ops/op.h"

namespace probust {
namespace {

// Which values of the graph depend on any of `wrt`.
std::vector<bool> dependents(const Graph& graph, std::span<const ValueId> wrt) {
  std::vector<bool> depends(graph.nodes.size(), false);
  for (const ValueId id : wrt) depends[id] = true;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    for (const ValueId input : graph.nodes[id].inputs) depends[id] = depends[id] || depends[input];
  }
  return depends;
}

// Adds `term` to a cotangent, which may still be empty.
void accumulate(Graph& graph, ValueId& cotangent, ValueId term) {
  if (term == kNoValue) return;
  cotangent = cotangent == kNoValue ? term : build::add(graph, cotangent, term);
}

}  // namespace

Vjp vjp(const Graph& graph, std::span<const ValueId> outputs, std::span<const ValueId> wrt) {
  Vjp result{graph, {}, {}};
  Graph& g = result.graph;
  const std::vector<bool> depends = dependents(graph, wrt);
  std::vector<ValueId> cotangent(graph.nodes.size(), kNoValue);
  for (const ValueId output : outputs) {
    const Shape shape = g[output].shape;
    result.cotangents.push_back(append_input(g, shape, Extent::seeded, "cotangent of " + g[output].name));
    accumulate(g, cotangent[output], result.cotangents.back());
  }
  for (auto id = static_cast<ValueId>(graph.nodes.size()) - 1; id >= 0; --id) {
    if (cotangent[id] == kNoValue || !depends[id]) continue;
    const std::vector<ValueId> operands = g[id].inputs;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!depends[operands[i]]) continue;
      accumulate(g, cotangent[operands[i]], definition(g[id].op).vjp(g, id, i, cotangent[id]));
    }
  }
  for (const ValueId id : wrt) {
    const Shape shape = g[id].shape;
    ValueId gradient = cotangent[id];
    if (gradient == kNoValue) gradient = build::broadcast(g, build::constant(g, 0), shape);
    result.gradients.push_back(gradient);
    g.outputs.push_back(gradient);
  }
  check(g);
  return result;
}

namespace {

bool all_constant(const Vjp& sweep) {
  return std::all_of(sweep.gradients.begin(), sweep.gradients.end(),
                     [&](ValueId gradient) { return sweep.graph[gradient].extent == Extent::constant; });
}

}  // namespace

bool is_piecewise_constant(const Graph& graph) { return all_constant(vjp(graph, graph.outputs, graph.inputs())); }

bool is_piecewise_linear(const Graph& graph) {
  const Vjp first = vjp(graph, graph.outputs, graph.inputs());
  return all_constant(vjp(first.graph, first.gradients, graph.inputs()));
}

}  // namespace probust
