// SPDX-License-Identifier: MIT
// y = op(a) op(b) over the last two axes: [..., m, k] x [..., k, n] -> [..., m, n]. Leading axes are broadcast, and op(.) is an
// optional transpose. Both cotangents are matrix products of the same kind.
#include <algorithm>

#include "probust/ops/build.h"
#include "probust/ops/families.h"

namespace probust::ops {
namespace {

struct ProductSizes {
  std::int64_t m, k, n;
  Shape batch;
};

Shape leading(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

ProductSizes sizes(const MatmulAttributes& t, const Shape& a, const Shape& b) {
  if (a.size() < 2 || b.size() < 2)
    misfit("matmul", "needs operands of rank 2 or more, not of shape " + to_string(a) + " and " + to_string(b));
  const std::int64_t rows = a[a.size() - 2], inner_a = a[a.size() - 1], inner_b = b[b.size() - 2], columns = b[b.size() - 1];
  const std::int64_t m = t.transpose_a ? inner_a : rows, k = t.transpose_a ? rows : inner_a;
  const std::int64_t k_b = t.transpose_b ? columns : inner_b, n = t.transpose_b ? inner_b : columns;
  if (k != k_b) misfit("matmul", "has operands " + to_string(a) + " and " + to_string(b) + " with different inner extents");
  return {m, k, n, broadcast_shapes(leading(a), leading(b), "operator matmul")};
}

Shape infer_matmul(const Attributes& attributes, std::span<const Shape> in) {
  ProductSizes s = sizes(std::get<MatmulAttributes>(attributes), in[0], in[1]);
  s.batch.push_back(s.m);
  s.batch.push_back(s.n);
  return s.batch;
}

// The index of the matrix of `operand` for matrix number `index` of the broadcast batch.
std::int64_t matrix_index(std::int64_t index, const Shape& batch, const Shape& operand) {
  std::int64_t result = 0, stride = 1;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::int64_t coordinate = index % batch[batch.size() - 1 - i];
    index /= batch[batch.size() - 1 - i];
    if (i >= operand.size()) continue;
    const std::int64_t extent = operand[operand.size() - 1 - i];
    if (extent != 1) result += coordinate * stride;
    stride *= extent;
  }
  return result;
}

void eval_matmul(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const auto& t = std::get<MatmulAttributes>(attributes);
  const Tensor &a = *in[0], &b = *in[1];
  const auto [m, k, n, batch] = sizes(t, a.shape, b.shape);
  const std::int64_t matrices = element_count(batch);
  for (std::int64_t index = 0; index < matrices; ++index) {
    const float* pa = a.data.data() + matrix_index(index, batch, leading(a.shape)) * m * k;
    const float* pb = b.data.data() + matrix_index(index, batch, leading(b.shape)) * k * n;
    float* py = y.data.data() + index * m * n;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          sum += double{pa[t.transpose_a ? l * m + i : i * k + l]} * double{pb[t.transpose_b ? j * k + l : l * n + j]};
        }
        py[i * n + j] = static_cast<float>(sum);
      }
    }
  }
}

ValueId vjp(Graph& g, ValueId y, std::size_t operand, ValueId c) {
  const Node node = g[y];
  const auto [ta, tb] = std::get<MatmulAttributes>(node.attributes);
  const ValueId a = node.inputs[0], b = node.inputs[1];
  ValueId result = kNoValue;
  if (operand == 0) {
    result = ta ? build::matmul(g, b, c, tb, true) : build::matmul(g, c, b, false, !tb);
  } else {
    result = tb ? build::matmul(g, c, a, true, ta) : build::matmul(g, a, c, !ta, false);
  }
  const Shape shape = g[node.inputs[operand]].shape;
  return build::sum_to(g, result, shape);
}

double flops_matmul(const Attributes& attributes, std::span<const Shape> in, const Shape& y) {
  return 2 * count(y) * static_cast<double>(sizes(std::get<MatmulAttributes>(attributes), in[0], in[1]).k);
}

constexpr OpDefinition kMatmulFamily[] = {
    {Op::matmul, "matmul", "y[.., i, j] = sum_l op(a)[.., i, l] op(b)[.., l, j]", 2, 2, infer_matmul, eval_matmul, vjp,
     flops_matmul, affine(0b11)},
};

}  // namespace

std::span<const OpDefinition> matmul_family() { return kMatmulFamily; }

}  // namespace probust::ops
