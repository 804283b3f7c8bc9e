// SPDX-License-Identifier: MIT
// softmax and log_softmax along one axis, computed with the largest element subtracted.
//   d softmax:      y (c - sum(c y))          d log_softmax:  c - softmax(a) sum(c)
#include <algorithm>
#include <cmath>

#include "probust/ops/build.h"
#include "probust/ops/families.h"

namespace probust::ops {
namespace {

Shape infer_softmax(const Attributes& attributes, std::span<const Shape> in) {
  const std::int64_t axis = std::get<AxisAttribute>(attributes).axis;
  require_axis("softmax", axis, in[0]);
  return in[0];
}

template <bool logarithm>
void eval(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const std::int64_t axis = std::get<AxisAttribute>(attributes).axis, extent = y.shape[axis];
  const std::int64_t stride = row_major_strides(y.shape)[axis];
  for (std::int64_t line = 0; line < y.size() / std::max<std::int64_t>(extent, 1); ++line) {
    const std::int64_t start = line / stride * stride * extent + line % stride;
    const float* a = in[0]->data.data() + start;
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < extent; ++i) {
      if (a[i * stride] > a[best * stride]) best = i;
    }
    const double largest = a[best * stride];
    double others = 0;  // sum of e^(a - largest) over the other elements: if y is near 1, ln y is about -others
    for (std::int64_t i = 0; i < extent; ++i) others += i == best ? 0 : std::exp(a[i * stride] - largest);
    for (std::int64_t i = 0; i < extent; ++i) {
      const double shifted = a[i * stride] - largest;
      y.data[start + i * stride] =
          static_cast<float>(logarithm ? shifted - std::log1p(others) : std::exp(shifted) / (1 + others));
    }
  }
}

ValueId sum_along(Graph& g, ValueId x, const Attributes& attributes) {
  return build::reduce_sum(g, x, {std::get<AxisAttribute>(attributes).axis});
}

ValueId vjp_softmax(Graph& g, ValueId y, std::size_t, ValueId c) {
  const Attributes attributes = g[y].attributes;
  const ValueId mean = sum_along(g, build::multiply(g, c, y), attributes);
  return build::multiply(g, y, build::subtract(g, c, mean));
}

ValueId vjp_log_softmax(Graph& g, ValueId y, std::size_t, ValueId c) {
  const Attributes attributes = g[y].attributes;
  const ValueId total = sum_along(g, c, attributes);
  return build::subtract(g, c, build::multiply(g, append(g, Op::exp, {y}), total));
}

double flops_softmax(const Attributes&, std::span<const Shape>, const Shape& y) { return 5 * count(y); }

constexpr OpDefinition kSoftmaxFamily[] = {
    {Op::softmax, "softmax", "y = e^a / sum e^a along an axis", 1, 1, infer_softmax, eval<false>, vjp_softmax, flops_softmax},
    {Op::log_softmax, "log_softmax", "y = a - ln sum e^a along an axis", 1, 1, infer_softmax, eval<true>, vjp_log_softmax,
     flops_softmax},
};

}  // namespace

std::span<const OpDefinition> softmax_family() { return kSoftmaxFamily; }

}  // namespace probust::ops
