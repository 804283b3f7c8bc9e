// SPDX-License-Identifier: MIT
#include "probust/estimators/tolerance.h"

#include <algorithm>
#include <cmath>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/ops/build.h"

namespace probust {

Graph within_tolerance(const Graph& regression, const std::vector<double>& gammas) {
  for (const double gamma : gammas) {
    const auto tolerance = static_cast<float>(gamma);
    if (tolerance > 0 && std::isfinite(tolerance)) continue;
    throw Error{ErrorCode::usage, option("tolerance"), "is '" + shortest_text(gamma) + "', which is not a positive number",
                "give the smallest change of an output that counts as a failure"};
  }
  const Shape inputs = regression[regression.inputs().at(0)].shape, outputs = regression[regression.outputs.at(0)].shape;
  const std::int64_t d = element_count(inputs), k = element_count(outputs);
  if (gammas.size() != 1 && std::ssize(gammas) != k)
    throw Error{ErrorCode::usage, option("tolerance"),
                "has " + std::to_string(gammas.size()) + " numbers, but the model has " + std::to_string(k) + " outputs",
                "give one for all outputs, or one per output"};
  Graph g;
  const ValueId point = append_input(g, {d + k}, Extent::example, "x and f(x)");
  const ValueId x = append(g, Op::slice, {point}, SliceAttributes{{0}, {d}, {1}});
  const ValueId known = append(g, Op::slice, {point}, SliceAttributes{{d}, {k}, {1}});
  const ValueId f = build::reshape(g, append_function(g, regression, build::reshape(g, x, inputs)), {k});
  Tensor each({k});
  for (std::size_t i = 0; i < each.data.size(); ++i) each.data[i] = static_cast<float>(gammas[gammas.size() == 1 ? 0 : i]);
  const ValueId allowed = append_constant(g, std::move(each));
  // The outputs are subtracted first. A tolerance added to a large output would be lost to rounding.
  const ValueId below = build::subtract(g, build::subtract(g, known, f), allowed);
  const ValueId above = build::subtract(g, build::subtract(g, f, known), allowed);
  g.outputs = {append(g, Op::concat, {below, above, append_constant(g, Tensor({1}))}, AxisAttribute{0})};
  check(g);
  return g;
}

Tensor with_outputs(const Tensor& x, const Tensor& outputs) {
  const std::int64_t n = x.shape.at(0), k = outputs.shape.at(1);
  const std::int64_t d = element_count({x.shape.begin() + 1, x.shape.end()});
  Tensor points({n, d + k});
  for (std::int64_t i = 0; i < n; ++i)
    std::copy_n(outputs.data.data() + i * k, k, std::copy_n(x.data.data() + i * d, d, points.data.data() + i * (d + k)));
  return points;
}

std::shared_ptr<const NoiseShape> on_inputs(std::shared_ptr<const NoiseShape> shape, std::int64_t d, std::int64_t outputs) {
  Columns columns{{}, true};
  columns.listed.reserve(static_cast<std::size_t>(outputs));
  for (std::int64_t k = 0; k < outputs; ++k) columns.listed.push_back(d + k);
  return on_columns(std::move(shape), std::move(columns));
}

}  // namespace probust
