// SPDX-License-Identifier: MIT
// Products with a constant matrix become products of [lanes, k] with [k, n] (gemm.h). Products of two values that vary from lane
// to lane are formed lane by lane, element after element, along the lanes.
#include <algorithm>

#include "probust/exec/cpu/gemm.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/ops/op.h"

namespace probust::cpu {
namespace {

struct Matrix {
  std::int64_t rows, columns;
};

Matrix last_two(const Shape& shape) { return {shape[shape.size() - 2], shape[shape.size() - 1]}; }

std::int64_t leading_count(const Shape& shape) { return element_count({shape.begin(), shape.end() - 2}); }

// The constant as [k, n] (or its transpose) where it is a single matrix.
Weights as_weights(const Tensor& tensor, bool transpose) {
  const auto [rows, columns] = last_two(tensor.shape);
  const Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> map(tensor.data.data(), rows,
                                                                                                    columns);
  return Weights(transpose ? Eigen::MatrixXf(map.transpose()) : Eigen::MatrixXf(map));
}

// y[.., i, :] = op(a)[.., i, :] w + bias: one product per row i, over all lanes.
Kernel right_constant(const Graph& graph, const Node& node, std::vector<float> bias) {
  const auto t = std::get<MatmulAttributes>(node.attributes);
  return [w = as_weights(constant_value(graph, node.inputs[1]), t.transpose_b), t, bias = std::move(bias)](const Call& call) {
    const auto [rows, columns] = last_two(*call.in[0].shape);
    const std::int64_t m = t.transpose_a ? columns : rows, k = w.rows(), n = w.cols();
    float* scratch = call.scratch_of(multiply_scratch(call.lanes, w));
    const std::int64_t element_stride = (t.transpose_a ? m : 1) * call.lanes, row_step = (t.transpose_a ? 1 : k) * call.lanes;
    for (std::int64_t matrix = 0; matrix < leading_count(*call.in[0].shape); ++matrix) {
      for (std::int64_t i = 0; i < m; ++i) {
        multiply(call.lanes, call.in[0].data + matrix * m * k * call.lanes + i * row_step, element_stride, w,
                 bias.empty() ? nullptr : bias.data(), call.out + (matrix * m + i) * n * call.lanes, call.lanes, scratch);
      }
    }
  };
}

// y[.., :, j] = w b[.., :, j]; rows of b, j and lanes together, are contiguous.
Kernel left_constant(const Graph& graph, const Node& node) {
  const auto t = std::get<MatmulAttributes>(node.attributes);
  return [w = as_weights(constant_value(graph, node.inputs[0]), !t.transpose_a)](const Call& call) {
    const std::int64_t n = last_two(*call.shape).columns, k = w.rows(), m = w.cols(), width = n * call.lanes;
    float* scratch = call.scratch_of(multiply_scratch(width, w));
    for (std::int64_t matrix = 0; matrix < leading_count(*call.in[1].shape); ++matrix) {
      multiply(width, call.in[1].data + matrix * k * width, width, w, nullptr, call.out + matrix * m * width, width, scratch);
    }
  };
}

// out[lane] += a[lane] b[lane] over all lanes of the output, whatever the operands' extents.
void add_products(const Call& call, const float* a, const float* b, float* out) {
  const std::int64_t step_a = call.lanes_of(0) == 1 ? 0 : 1, step_b = call.lanes_of(1) == 1 ? 0 : 1;
  const std::int64_t examples = call.batch.examples, seeds = call.lanes / examples;
  for (std::int64_t s = 0; s < seeds; ++s) {
    const float* pa = a + (call.in[0].extent == Extent::seeded ? s * examples : 0);
    const float* pb = b + (call.in[1].extent == Extent::seeded ? s * examples : 0);
    float* to = out + s * examples;
    if (step_a == 1 && step_b == 1) {
      for (std::int64_t i = 0; i < examples; ++i) to[i] += pa[i] * pb[i];
    } else {
      for (std::int64_t i = 0; i < examples; ++i) to[i] += pa[i * step_a] * pb[i * step_b];
    }
  }
}

// Offsets (in matrices) of each operand for every matrix of the output.
std::vector<std::int64_t> matrix_offsets(const Shape& operand, const Shape& output) {
  const Shape from(operand.begin(), operand.end() - 2), to(output.begin(), output.end() - 2);
  const Shape own = row_major_strides(from);
  const std::int64_t total = element_count(to);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(total), 0);
  for (std::int64_t index = 0; index < total; ++index) {
    std::int64_t rest = index;
    for (std::size_t i = to.size(); i-- > 0;) {
      const std::int64_t coordinate = rest % to[i];
      rest /= to[i];
      const std::size_t added = to.size() - from.size();
      if (i >= added && from[i - added] != 1) offsets[index] += coordinate * own[i - added];
    }
  }
  return offsets;
}

// y [m, n] = op(a) b of one lane, b [k, n]. Every element is the sum that lane_by_lane forms, in the same order: one lane among
// many gives the same bits. Along a row of y the sums stand beside each other, a block of them in registers.
void multiply_one_lane(const float* a, std::int64_t step_i, std::int64_t step_l, const float* b, Matrix y_size, std::int64_t k,
                       float* y) {
  constexpr std::int64_t kBlock = 16;
  using Block = Eigen::Array<float, kBlock, 1>;
  const auto [m, n] = y_size;
  for (std::int64_t i = 0; i < m; ++i) {
    std::int64_t j = 0;
    for (; j + kBlock <= n; j += kBlock) {
      Block sum = Block::Zero();
      for (std::int64_t l = 0; l < k; ++l) sum += a[i * step_i + l * step_l] * Eigen::Map<const Block>(b + l * n + j);
      Eigen::Map<Block>(y + i * n + j) = sum;
    }
    for (; j < n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += a[i * step_i + l * step_l] * b[l * n + j];
      y[i * n + j] = sum;
    }
  }
}

// b [n, k] as [k, n].
const float* transposed(const float* b, std::int64_t k, std::int64_t n, float* to) {
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<RowMajor>(to, k, n) = Eigen::Map<const RowMajor>(b, n, k).transpose();
  return to;
}

Kernel lane_by_lane(const Graph& graph, const Node& node) {
  const auto t = std::get<MatmulAttributes>(node.attributes);
  auto offsets_a = matrix_offsets(graph[node.inputs[0]].shape, node.shape),
       offsets_b = matrix_offsets(graph[node.inputs[1]].shape, node.shape);
  return [t, offsets_a = std::move(offsets_a), offsets_b = std::move(offsets_b)](const Call& call) {
    const auto [m, n] = last_two(*call.shape);
    const auto [rows_a, columns_a] = last_two(*call.in[0].shape);
    const std::int64_t k = t.transpose_a ? rows_a : columns_a, lanes_a = call.lanes_of(0), lanes_b = call.lanes_of(1);
    std::fill_n(call.out, element_count(*call.shape) * call.lanes, 0.0F);
    for (std::size_t matrix = 0; matrix < offsets_a.size(); ++matrix) {
      const float* a = call.in[0].data + offsets_a[matrix] * m * k * lanes_a;
      const float* b = call.in[1].data + offsets_b[matrix] * k * n * lanes_b;
      float* y = call.out + static_cast<std::int64_t>(matrix) * m * n * call.lanes;
      if (call.lanes == 1) {
        multiply_one_lane(a, t.transpose_a ? 1 : k, t.transpose_a ? m : 1,
                          t.transpose_b ? transposed(b, k, n, call.scratch_of(k * n)) : b, {m, n}, k, y);
        continue;
      }
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t l = 0; l < k; ++l) {
            add_products(call, a + (t.transpose_a ? l * m + i : i * k + l) * lanes_a,
                         b + (t.transpose_b ? j * k + l : l * n + j) * lanes_b, y + (i * n + j) * call.lanes);
          }
        }
      }
    }
  };
}

bool multiplies_constant(const Graph& graph, const Node& node) {
  const Node &a = graph[node.inputs[0]], &b = graph[node.inputs[1]];
  return b.op == Op::constant && leading_count(b.shape) == 1 && a.extent == node.extent;
}

}  // namespace

Kernel make_biased_matmul(const Graph& graph, const Node& node, std::vector<float> bias) {
  return multiplies_constant(graph, node) ? right_constant(graph, node, std::move(bias)) : Kernel();
}

Kernel make_matmul(const Graph& graph, const Node& node) {
  const Node &a = graph[node.inputs[0]], &b = graph[node.inputs[1]];
  if (multiplies_constant(graph, node)) return right_constant(graph, node, {});
  const auto t = std::get<MatmulAttributes>(node.attributes);
  if (a.op == Op::constant && leading_count(a.shape) == 1 && !t.transpose_b && b.extent == node.extent)
    return left_constant(graph, node);
  return lane_by_lane(graph, node);
}

}  // namespace probust::cpu
