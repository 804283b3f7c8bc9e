// SPDX-License-Identifier: MIT
// Sums over axes, and their transpose: repetition along axes.
#include <algorithm>

#include "probust/ops/build.h"
#include "probust/ops/families.h"

namespace probust::ops {
namespace {

Shape infer_reduce_sum(const Attributes& attributes, std::span<const Shape> in) {
  Shape shape = in[0];
  for (const std::int64_t axis : std::get<AxesAttributes>(attributes).axes) {
    require_axis("reduce_sum", axis, shape);
    shape[axis] = 1;
  }
  return shape;
}

Shape infer_broadcast(const Attributes& attributes, std::span<const Shape> in) {
  const Shape& target = std::get<ShapeAttribute>(attributes).shape;
  if (broadcast_shapes(in[0], target, "operator broadcast") != target) {
    misfit("broadcast", "cannot broadcast " + to_string(in[0]) + " to " + to_string(target));
  }
  return target;
}

// Calls visit for each element of `large` in order, with the corresponding element of `small`, whose extents are those of
// `large` or 1.
template <class Visit>
void for_each_pair(const Shape& large, const Shape& small, Visit visit) {
  const Shape strides = row_major_strides(small);
  const std::size_t added = large.size() - small.size();
  const std::int64_t count_large = element_count(large);
  for (std::int64_t index = 0; index < count_large; ++index) {
    std::int64_t rest = index, at = 0;
    for (std::size_t i = large.size(); i-- > 0;) {
      const std::int64_t coordinate = rest % large[i];
      rest /= large[i];
      if (i >= added && small[i - added] != 1) at += coordinate * strides[i - added];
    }
    visit(index, at);
  }
}

void eval_reduce_sum(const Attributes&, std::span<const Tensor* const> in, Tensor& y) {
  std::vector<double> sums(y.data.size());
  for_each_pair(in[0]->shape, y.shape, [&](std::int64_t from, std::int64_t to) { sums[to] += in[0]->data[from]; });
  for (std::size_t i = 0; i < sums.size(); ++i) y.data[i] = static_cast<float>(sums[i]);
}

void eval_broadcast(const Attributes&, std::span<const Tensor* const> in, Tensor& y) {
  for_each_pair(y.shape, in[0]->shape, [&](std::int64_t to, std::int64_t from) { y.data[to] = in[0]->data[from]; });
}

ValueId vjp_reduce_sum(Graph& g, ValueId y, std::size_t, ValueId c) {
  const Shape shape = g[g[y].inputs[0]].shape;
  return build::broadcast(g, c, shape);
}

ValueId vjp_broadcast(Graph& g, ValueId y, std::size_t, ValueId c) {
  const Shape shape = g[g[y].inputs[0]].shape;
  return build::sum_to(g, c, shape);
}

double flops_reduce(const Attributes&, std::span<const Shape> in, const Shape&) { return count(in[0]); }

constexpr OpDefinition kReduceFamily[] = {
    {Op::reduce_sum, "reduce_sum", "y = sum of a over axes, which keep extent 1", 1, 1, infer_reduce_sum, eval_reduce_sum,
     vjp_reduce_sum, flops_reduce, kSums},
    {Op::broadcast, "broadcast", "y = a repeated up to a shape", 1, 1, infer_broadcast, eval_broadcast, vjp_broadcast, flops_none,
     kMoves},
};

}  // namespace

std::span<const OpDefinition> reduce_family() { return kReduceFamily; }

}  // namespace probust::ops
