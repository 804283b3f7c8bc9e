// SPDX-License-Identifier: MIT
#include "probust/passes/compose.h"

#include "probust/ops/build.h"

namespace probust {

Graph after_map(const Graph& classifier, const Graph& map) {
  const Shape point = map[map.inputs().at(0)].shape, latents = map[map.inputs().at(1)].shape;
  const std::int64_t d = element_count(point), k = element_count(latents);
  Graph g;
  const ValueId v = append_input(g, {d + k}, Extent::example, "x and z");
  const ValueId x = build::reshape(g, append(g, Op::slice, {v}, SliceAttributes{{0}, {d}, {1}}), point);
  const ValueId z = build::reshape(g, append(g, Op::slice, {v}, SliceAttributes{{d}, {k}, {1}}), latents);
  const ValueId moved = append_function(g, map, {x, z});
  g.outputs = {append_function(g, classifier, build::reshape(g, moved, classifier[classifier.inputs().at(0)].shape))};
  check(g);
  return g;
}

}  // namespace probust
