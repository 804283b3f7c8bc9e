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

}  // namespace probust
