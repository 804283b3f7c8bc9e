// SPDX-License-Identifier: MIT
#include "probust/moments/moments.h"

#include "probust/base/error.h"
#include "probust/moments/rules.h"
#include "probust/ops/build.h"

namespace probust {

MomentGraph propagate_moments(const Graph& graph, Extent variances) {
  MomentGraph result;
  Graph& g = result.graph;
  std::vector<Moments> moments;
  for (const Node& node : graph.nodes) {
    if (node.op == Op::input) {
      if (result.input.random())
        throw Error{ErrorCode::usage, "the graph", "has more than one input, so its moments cannot be propagated", ""};
      result.input.mean = append_input(g, node.shape, node.extent, node.name);
      result.input.variance = append_input(g, node.shape, variances, "variance of " + node.name);
      moments.push_back(result.input);
      continue;
    }
    std::vector<Moments> operands;
    std::vector<ValueId> means;
    bool random = false;
    for (const ValueId input : node.inputs) {
      operands.push_back(moments[input]);
      means.push_back(moments[input].mean);
      random = random || operands.back().random();
    }
    moments.push_back(random ? moments_of(g, node, operands) : Moments{append(g, node.op, means, node.attributes, node.name)});
  }
  result.output = moments[graph.outputs.at(0)];
  if (!result.output.random())
    result.output.variance = build::broadcast(g, build::constant(g, 0), Shape(g[result.output.mean].shape));
  g.outputs = {result.output.mean, result.output.variance};
  check(g);
  return result;
}

}  // namespace probust
