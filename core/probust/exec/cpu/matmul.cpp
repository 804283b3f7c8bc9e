// SPDX-License-Identifier: MIT
// Products with a constant matrix become products of [lanes, k] with [k, n] (gemm.h). Products of two values that both vary are
// computed per lane: large ones by the same kernel, small ones element by element, vectorised over the lanes.
#include <algorithm>
#include <array>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/gemm.h"
#include "probust/exec/cpu/kernel.h"
#include "probust/exec/cpu/packed_forms.h"
#include "probust/ops/op.h"

namespace probust::cpu {
namespace {

struct Matrix {
  std::int64_t rows, columns;
};

Matrix last_two(const Shape& shape) { return {shape[shape.size() - 2], shape[shape.size() - 1]}; }

std::int64_t leading_count(const Shape& shape) { return element_count({shape.begin(), shape.end() - 2}); }

// Whether the second (right) or the first (left) operand of a node is a single constant matrix.
bool right_is_constant(const Graph& graph, const Node& node) {
  const Node &a = graph[node.inputs[0]], &b = graph[node.inputs[1]];
  return b.op == Op::constant && leading_count(b.shape) == 1 && a.extent == node.extent;
}

bool left_is_constant(const Graph& graph, const Node& node) {
  const Node &a = graph[node.inputs[0]], &b = graph[node.inputs[1]];
  return a.op == Op::constant && leading_count(a.shape) == 1 && b.extent == node.extent &&
         !std::get<MatmulAttributes>(node.attributes).transpose_b;
}

std::int64_t rows_of_a_lane(const Graph& graph, const Node& node) {
  const Matrix size = last_two(node.shape);
  return right_is_constant(graph, node) ? size.rows : size.columns;
}

// A single constant matrix, or its transpose, as weights [k, n].
std::shared_ptr<const Weights> as_weights(const Graph& graph, const Node& node, ValueId id, bool transpose) {
  const auto& constant = std::get<ConstantData>(graph[id].attributes).tensor;
  const Weights::Rest rest = rest_for(rows_of_a_lane(graph, node));
  return shared_form<Weights>(constant, Form::matrix, {transpose ? 1 : 0, rest == Weights::Rest::padded ? 1 : 0}, [&] {
    const auto [rows, columns] = last_two(constant->shape);
    using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Map<const RowMajor> map(constant->data.data(), rows, columns);
    return std::make_shared<const Weights>(transpose ? columns : rows, transpose ? rows : columns, rest,
                                           [&map, transpose](std::int64_t first, std::int64_t count) -> Eigen::MatrixXf {
                                             if (transpose) return map.middleCols(first, count).transpose();
                                             return map.middleRows(first, count);
                                           });
  });
}

constexpr std::int64_t kProductBytes = 1 << 20;  // limit for the products of gathered rows

// op(a) with many rows i and few lanes: row i begins at i * row_step, its k elements are element_step apart, and lanes are
// contiguous.
struct ManyRows {
  const float* a;
  std::int64_t count, row_step, element_step, lanes;
};

// y[i, :] = op(a)[i, :] w + bias for many rows i at once, each with all its lanes: gather, multiply, scatter. A separate
// product for each i would have too few rows for the kernel and read all weights again.
void multiply_together(const Call& call, const ManyRows& rows, const Weights& w, const float* bias, float* out) {
  const std::int64_t k = w.rows(), n = w.cols(), lanes = rows.lanes;
  const std::int64_t fitting = std::min(kGatherBytes / kFloat / std::max<std::int64_t>(1, k), kProductBytes / kFloat / n);
  const std::int64_t together = std::min(std::max(kLeastRows, fitting) / lanes, rows.count), block = together * lanes;
  const auto [columns, product] = call.scratch(std::array{block * k, block * n});
  for (std::int64_t first = 0; first < rows.count; first += together) {
    call.stop_if_asked();
    const std::int64_t some = std::min(together, rows.count - first), height = some * lanes;
    for (std::int64_t l = 0; l < k; ++l) {
      for (std::int64_t i = 0; i < some; ++i)
        std::copy_n(rows.a + (first + i) * rows.row_step + l * rows.element_step, lanes, columns + l * height + i * lanes);
    }
    multiply(height, columns, height, w, bias, product, height, call.workspace->packed);
    for (std::int64_t i = 0; i < some; ++i) {
      for (std::int64_t j = 0; j < n; ++j)
        std::copy_n(product + j * height + i * lanes, lanes, out + ((first + i) * n + j) * lanes);
    }
    call.finish(out + first * n * lanes - call.out, some * n * lanes);
  }
}

// y[.., i, :] = op(a)[.., i, :] w + bias: one product over all lanes for each row i or, with few lanes, one product for many
// rows.
Kernel right_constant(const Graph& graph, const Node& node, std::vector<float> bias) {
  const auto t = std::get<MatmulAttributes>(node.attributes);
  return [shared = as_weights(graph, node, node.inputs[1], t.transpose_b), t, bias = std::move(bias)](const Call& call) {
    const Weights& w = *shared;
    const auto [rows, columns] = last_two(*call.in[0].shape);
    const std::int64_t m = t.transpose_a ? columns : rows, k = w.rows(), n = w.cols();
    const std::int64_t element_step = (t.transpose_a ? m : 1) * call.lanes, row_step = (t.transpose_a ? 1 : k) * call.lanes;
    const float* const added = bias.empty() ? nullptr : bias.data();
    for (std::int64_t matrix = 0; matrix < leading_count(*call.in[0].shape); ++matrix) {
      const float* a = call.in[0].data + matrix * m * k * call.lanes;
      float* const out = call.out + matrix * m * n * call.lanes;
      if (m > 1 && call.lanes < kLeastRows) {
        multiply_together(call, {a, m, row_step, element_step, call.lanes}, w, added, out);
        continue;
      }
      for (std::int64_t i = 0; i < m; ++i) {
        call.stop_if_asked();
        float* const row = out + i * n * call.lanes;
        multiply(call.lanes, a + i * row_step, element_step, w, added, row, call.lanes, call.workspace->packed);
        call.finish(row - call.out, n * call.lanes);
      }
    }
  };
}

// y[.., :, j] = w b[.., :, j]. A row of b, with all j and lanes, is contiguous.
Kernel left_constant(const Graph& graph, const Node& node) {
  const auto t = std::get<MatmulAttributes>(node.attributes);
  return [shared = as_weights(graph, node, node.inputs[0], !t.transpose_a)](const Call& call) {
    const Weights& w = *shared;
    const std::int64_t n = last_two(*call.shape).columns, k = w.rows(), m = w.cols(), width = n * call.lanes;
    for (std::int64_t matrix = 0; matrix < leading_count(*call.in[1].shape); ++matrix) {
      call.stop_if_asked();
      float* const out = call.out + matrix * m * width;
      multiply(width, call.in[1].data + matrix * k * width, width, w, nullptr, out, width, call.workspace->packed);
      call.finish(out - call.out, m * width);
    }
  };
}

// An operand of a product of two varying values. Its elements are `lanes` apart. If it `varies`, its lanes are those of the
// output; otherwise its one lane is used for all.
struct LaneOperand {
  const float* data;
  std::int64_t lanes;
  bool varies;

  template <int Width>
  Eigen::Array<float, Width, 1> at(std::int64_t element) const {
    using Block = Eigen::Array<float, Width, 1>;
    const float* const from = data + element * lanes;
    return varies ? Block(Eigen::Map<const Block>(from)) : Block(Block::Constant(*from));
  }
  void advance(std::int64_t count) { data += varies ? count : 0; }
};

// The terms of a sum of products: `count` terms, step_a and step_b elements apart in the operands.
struct Terms {
  std::int64_t count, step_a, step_b;
};

// Sums for adjacent lanes, in registers. Every lane adds the terms in the same order.
template <int Width>
void sum_lanes(LaneOperand& a, LaneOperand& b, const Terms& terms, std::int64_t& lanes, float*& out) {
  using Block = Eigen::Array<float, Width, 1>;
  for (; lanes >= Width; lanes -= Width, out += Width, a.advance(Width), b.advance(Width)) {
    Block sum = Block::Zero();
    for (std::int64_t l = 0; l < terms.count; ++l) sum += a.at<Width>(l * terms.step_a) * b.at<Width>(l * terms.step_b);
    Eigen::Map<Block> to(out);
    to = sum;
  }
}

void sum_products(LaneOperand a, LaneOperand b, const Terms& terms, std::int64_t lanes, float* out) {
  sum_lanes<16>(a, b, terms, lanes, out);
  sum_lanes<8>(a, b, terms, lanes, out);
  sum_lanes<4>(a, b, terms, lanes, out);
  sum_lanes<1>(a, b, terms, lanes, out);
}

// Runs of lanes along which each operand either varies or is constant: the lanes of one seed or, with one example, all lanes.
struct LaneRuns {
  explicit LaneRuns(const Call& call)
      : length(call.batch.examples == 1 ? call.lanes : call.batch.examples), count(call.lanes / length) {}
  std::int64_t length, count;

  LaneOperand operand(const Call& call, std::size_t which, const float* element, std::int64_t run) const {
    const std::int64_t first = call.in[which].extent == Extent::seeded ? run * length : 0, lanes = call.lanes_of(which);
    return {element + first, lanes, lanes > 1};
  }
};

// The offset of each operand, in matrices, for every matrix of the output.
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

// y [m, n] = op(a) b for one lane, with b [k, n]. Every element is summed in the same order as in lane_by_lane, so a lane gives
// the same bits alone and among many. Blocks of a row of y are computed in registers.
void multiply_one_lane(const float* a, std::int64_t step_i, std::int64_t step_l, const float* b, Matrix y_size, std::int64_t k,
                       float* y) {
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

// Transposes b [n, k] to [k, n].
const float* transposed(const float* b, std::int64_t k, std::int64_t n, float* to) {
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<RowMajor>(to, k, n) = Eigen::Map<const RowMajor>(b, n, k).transpose();
  return to;
}

// A product of two varying values: y [m, n] = op(a) op(b), with k terms per sum.
struct Varying {
  const float* a;
  const float* b;
  MatmulAttributes t;
  std::int64_t m, n, k;
  float* y;
};

// Whether gathering the operands is faster. The choice must not depend on the number of lanes, because it changes the order of
// sums.
bool is_large(std::int64_t m, std::int64_t n, std::int64_t k) {
  return std::min({m, n, k}) >= 16 && m * n * k >= std::int64_t{1} << 15;
}

// Lane `lane` of op(b), as weights.
Weights weights_of_lane(const Call& call, const Varying& p, std::int64_t lane) {
  const std::int64_t lanes = call.lanes_of(1), step_l = (p.t.transpose_b ? 1 : p.n) * lanes,
                     step_j = (p.t.transpose_b ? p.k : 1) * lanes;
  return {p.k, p.n, Weights::Rest::padded, [&](std::int64_t first, std::int64_t count) {
            Eigen::MatrixXf rows(count, p.n);
            for (std::int64_t j = 0; j < p.n; ++j) {
              const float* from = p.b + first * step_l + j * step_j + lane;
              for (std::int64_t l = 0; l < count; ++l) rows(l, j) = from[l * step_l];
            }
            return rows;
          }};
}

// Packs each lane of b once and multiplies it by all lanes of a that use it: one product of many rows for several lanes.
void multiply_large(const Call& call, const Varying& p) {
  const std::int64_t lanes_a = call.lanes_of(0), lanes_b = call.lanes_of(1), meeting = call.lanes / lanes_b;
  const std::int64_t step_i = (p.t.transpose_a ? 1 : p.k) * lanes_a, step_l = (p.t.transpose_a ? p.m : 1) * lanes_a;
  const std::int64_t fitting = kGatherBytes / kFloat / (p.k * p.m);
  const std::int64_t together = std::clamp<std::int64_t>(fitting, 1, meeting), block = together * p.m;
  const auto [columns, product] = call.scratch(std::array{block * p.k, block * p.n});
  for (std::int64_t lane_b = 0; lane_b < lanes_b; ++lane_b) {
    call.stop_if_asked();
    const Weights w = weights_of_lane(call, p, lane_b);
    for (std::int64_t first = 0; first < meeting; first += together) {
      const std::int64_t some = std::min(together, meeting - first), height = some * p.m;
      for (std::int64_t s = 0; s < some; ++s) {
        const float* from = p.a + (lane_b + (first + s) * lanes_b) % lanes_a;
        for (std::int64_t l = 0; l < p.k; ++l) {
          for (std::int64_t i = 0; i < p.m; ++i) columns[l * height + s * p.m + i] = from[i * step_i + l * step_l];
        }
      }
      multiply(height, columns, height, w, nullptr, product, height, call.workspace->packed);
      for (std::int64_t s = 0; s < some; ++s) {
        float* to = p.y + lane_b + (first + s) * lanes_b;
        for (std::int64_t j = 0; j < p.n; ++j) {
          for (std::int64_t i = 0; i < p.m; ++i) to[(i * p.n + j) * call.lanes] = product[j * height + s * p.m + i];
        }
      }
    }
  }
}

Kernel lane_by_lane(const Graph& graph, const Node& node) {
  const auto t = std::get<MatmulAttributes>(node.attributes);
  auto offsets_a = matrix_offsets(graph[node.inputs[0]].shape, node.shape),
       offsets_b = matrix_offsets(graph[node.inputs[1]].shape, node.shape);
  return [t, offsets_a = std::move(offsets_a), offsets_b = std::move(offsets_b)](const Call& call) {
    const auto [m, n] = last_two(*call.shape);
    const auto [rows_a, columns_a] = last_two(*call.in[0].shape);
    const std::int64_t k = t.transpose_a ? rows_a : columns_a, lanes_a = call.lanes_of(0), lanes_b = call.lanes_of(1);
    for (std::size_t matrix = 0; matrix < offsets_a.size(); ++matrix) {
      const float* a = call.in[0].data + offsets_a[matrix] * m * k * lanes_a;
      const float* b = call.in[1].data + offsets_b[matrix] * k * n * lanes_b;
      float* y = call.out + static_cast<std::int64_t>(matrix) * m * n * call.lanes;
      if (is_large(m, n, k)) {
        multiply_large(call, {a, b, t, m, n, k, y});
        continue;
      }
      if (call.lanes == 1) {
        multiply_one_lane(a, t.transpose_a ? 1 : k, t.transpose_a ? m : 1,
                          t.transpose_b ? transposed(b, k, n, call.scratch(k * n)) : b, {m, n}, k, y);
        continue;
      }
      const LaneRuns runs(call);
      const Terms terms{k, t.transpose_a ? m : 1, t.transpose_b ? 1 : n};
      for (std::int64_t i = 0; i < m; ++i) {
        call.stop_if_asked();
        for (std::int64_t j = 0; j < n; ++j) {
          const float* const row = a + (t.transpose_a ? i : i * k) * lanes_a;
          const float* const column = b + (t.transpose_b ? j * k : j) * lanes_b;
          for (std::int64_t run = 0; run < runs.count; ++run)
            sum_products(runs.operand(call, 0, row, run), runs.operand(call, 1, column, run), terms, runs.length,
                         y + (i * n + j) * call.lanes + run * runs.length);
        }
      }
    }
  };
}

}  // namespace

ValueId constant_factor_of_matmul(const Graph& graph, const Node& node) {
  return right_is_constant(graph, node) ? node.inputs[1] : left_is_constant(graph, node) ? node.inputs[0] : kNoValue;
}

bool can_add_bias_to_matmul(const Graph& graph, const Node& node) { return right_is_constant(graph, node); }

Product make_constant_matmul(const Graph& graph, const Node& node, std::vector<float> bias) {
  const bool right = right_is_constant(graph, node);
  const std::int64_t rows = rows_of_a_lane(graph, node);
  const std::int64_t bytes = packed_bytes(constant_value(graph, constant_factor(graph, node)).size(), rest_for(rows));
  return {right ? right_constant(graph, node, std::move(bias)) : left_constant(graph, node), rows, bytes};
}

Kernel make_matmul(const Graph& graph, const Node& node) { return lane_by_lane(graph, node); }

}  // namespace probust::cpu
