// SPDX-License-Identifier: MIT
#include "probust/passes/gradient_graphs.h"

#include <array>

#include "probust/autodiff/vjp.h"
#include "probust/moments/moments.h"
#include "probust/passes/pool_first.h"
#include "probust/passes/simplify.h"

namespace probust {

Graph gradient_graph(const Graph& classifier) {
  const Graph graph = pool_first(classifier);
  return simplify(vjp(graph, graph.outputs, graph.inputs()).graph);
}

Graph moment_graph(const Graph& classifier, Extent variances) {
  return simplify(propagate_moments(pool_first(classifier), variances).graph);
}

Graph smoothed_gradient_graph(const Graph& classifier) {
  MomentGraph moments = propagate_moments(pool_first(classifier));
  moments.graph.outputs = {moments.output.mean};
  return simplify(vjp(moments.graph, moments.graph.outputs, std::array{moments.input.mean}).graph);
}

namespace {

// The graph of the outputs, their gradients with respect to x, and the derivatives of these along a seed.
Graph twice_differentiated(const Graph& graph, ValueId x) {
  const Vjp first = vjp(graph, graph.outputs, std::array{x});
  return simplify(vjp(first.graph, first.gradients, std::array{x}).graph);
}

}  // namespace

Graph hessian_graph(const Graph& classifier) {
  const Graph graph = pool_first(classifier);
  return twice_differentiated(graph, graph.inputs()[0]);
}

Graph smoothed_hessian_graph(const Graph& classifier) {
  MomentGraph moments = propagate_moments(pool_first(classifier));
  moments.graph.outputs = {moments.output.mean};
  return twice_differentiated(moments.graph, moments.input.mean);
}

}  // namespace probust
