// SPDX-License-Identifier: MIT
#include "probust/noise/latent_map.h"

#include <numeric>

#include "probust/ops/build.h"

namespace probust {

std::shared_ptr<const NoiseMap> map_of_graph(Graph graph, std::int64_t elements, std::int64_t latents,
                                             std::shared_ptr<const NoiseShape> latent, bool parameters, const std::string& name) {
  auto map = std::make_shared<NoiseMap>();
  check(graph);
  map->graph = std::move(graph);
  map->latents = latents;
  map->latent = std::move(latent);
  Columns columns;
  columns.listed.resize(static_cast<std::size_t>(latents));
  std::iota(columns.listed.begin(), columns.listed.end(), elements);
  map->on_points = mixture({{{map->latent, 1}, std::move(columns), parameters}}, name);
  return map;
}

std::shared_ptr<const NoiseMap> map_on_columns(const NoiseShape& shape, const std::vector<std::int64_t>& columns,
                                               const Shape& point, const std::string& name) {
  const std::shared_ptr<const NoiseMap> own = shape.map();
  const std::int64_t elements = element_count(point), count = std::ssize(columns);
  Graph g;
  const ValueId x = build::reshape(g, append_input(g, point, Extent::example, "x"), {elements});
  const ValueId z = append_input(g, {own->latents}, Extent::example, "z");
  const ValueId given = append(g, Op::gather, {x}, GatherAttributes{0, columns, elements});
  const Shape inside = own->graph[own->graph.inputs().at(0)].shape;
  const ValueId moved = append_function(g, own->graph, {build::reshape(g, given, inside), z});
  const ValueId all = append(g, Op::concat, {x, build::reshape(g, moved, {count})}, AxisAttribute{0});
  std::vector<std::int64_t> from(static_cast<std::size_t>(elements));
  std::iota(from.begin(), from.end(), 0);
  for (std::int64_t k = 0; k < count; ++k) from[columns[k]] = elements + k;
  const ValueId result = append(g, Op::gather, {all}, GatherAttributes{0, std::move(from), elements + count});
  g.outputs = {build::reshape(g, result, point)};
  return map_of_graph(std::move(g), elements, own->latents, own->latent, !shape.parameters(count).empty(), name);
}

}  // namespace probust
