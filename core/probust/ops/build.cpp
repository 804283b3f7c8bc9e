// SPDX-License-Identifier: MIT
#include "probust/ops/build.h"

#include <numeric>

namespace probust::build {

ValueId constant(Graph& g, float value) { return append_constant(g, Tensor::scalar(value)); }

ValueId reduce_sum(Graph& g, ValueId x, std::vector<std::int64_t> axes) {
  if (axes.empty()) return x;
  return append(g, Op::reduce_sum, {x}, AxesAttributes{std::move(axes)});
}

ValueId broadcast(Graph& g, ValueId x, const Shape& shape) {
  if (g[x].shape == shape) return x;
  return append(g, Op::broadcast, {x}, ShapeAttribute{shape});
}

ValueId sum_to(Graph& g, ValueId x, const Shape& shape) {
  const Shape from = g[x].shape;
  if (from == shape) return x;
  const std::size_t added = from.size() - shape.size();
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool repeated = i < added || (shape[i - added] == 1 && from[i] != 1);
    if (repeated) axes.push_back(static_cast<std::int64_t>(i));
  }
  return reshape(g, reduce_sum(g, x, std::move(axes)), shape);
}

ValueId reshape(Graph& g, ValueId x, const Shape& shape) {
  if (g[x].shape == shape) return x;
  return append(g, Op::reshape, {x}, ShapeAttribute{shape});
}

ValueId transpose(Graph& g, ValueId x, std::vector<std::int64_t> permutation) {
  std::vector<std::int64_t> identity(permutation.size());
  std::iota(identity.begin(), identity.end(), 0);
  if (permutation == identity) return x;
  return append(g, Op::transpose, {x}, PermutationAttribute{std::move(permutation)});
}

}  // namespace probust::build
