// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/rows_matmul.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/direct_tile.h"
#include "probust/exec/cpu/packed_forms.h"
#include "probust/ops/op.h"

namespace probust::cpu {
namespace {

// The strip of W that a tile covers, in packets and in floats, and the number of rows of x in a tile.
constexpr int kStripPackets = 3;
constexpr std::int64_t kStrip = kStripPackets * kPacket;
constexpr int kTileRows = kTileSums / kStripPackets;
constexpr std::int64_t kMostTerms = 192;        // a strip of W with this many rows stays in the first-level cache
constexpr std::int64_t kSumBytes = 128 << 10;   // limit for the sums of a strip
constexpr std::int64_t kRowBytes = 1024 << 10;  // limit for the rows of x

// sums[i, j] += x[i, k] w[k, j]. Row i of x begins at x[i]; its elements are `step` apart.
template <int Rows, int V>
void add_rows(const float* const* x, std::int64_t step, const float* w, std::int64_t terms, float* sums) {
  using namespace Eigen::internal;
  Packet held[Rows][V];
  for (int i = 0; i < Rows; ++i) {
    for (int v = 0; v < V; ++v) held[i][v] = ploadu<Packet>(sums + i * kStrip + v * kPacket);
  }
  for (std::int64_t k = 0; k < terms; ++k) {
    Packet row[V];
    for (int v = 0; v < V; ++v) row[v] = ploadu<Packet>(w + k * kStrip + v * kPacket);
    for (int i = 0; i < Rows; ++i) {
      const Packet value = pset1<Packet>(x[i][k * step]);
      for (int v = 0; v < V; ++v) held[i][v] = pmadd(value, row[v], held[i][v]);
    }
  }
  for (int i = 0; i < Rows; ++i) {
    for (int v = 0; v < V; ++v) pstoreu(sums + i * kStrip + v * kPacket, held[i][v]);
  }
}

template <int Rows>
void add_rows(const float* const* x, std::int64_t step, const float* w, std::int64_t terms, std::int64_t width, float* sums) {
  if (width > 2 * kPacket) return add_rows<Rows, 3>(x, step, w, terms, sums);
  if (width > kPacket) return add_rows<Rows, 2>(x, step, w, terms, sums);
  add_rows<Rows, 1>(x, step, w, terms, sums);
}

constexpr int kTileColumns = std::gcd(kTileRows, static_cast<int>(kStrip));  // columns of W in a tile whose vectors contain lanes

// A vector of lanes of a row: its address in x, and the address of its first column in the output.
struct LanesOfRow {
  const float* x;
  float* out;
};

// out[j, l] = start[j] + sum over k of w[k, j] x[k, l], for V vectors of lanes l and the first `columns` columns j.
template <int V>
void lanes_tile(const LanesOfRow* at, std::int64_t step, const float* w, std::int64_t terms, const float* start,
                std::int64_t columns, std::int64_t column, std::int64_t out_step) {
  using namespace Eigen::internal;
  Packet held[kTileColumns][V];
  for (int j = 0; j < kTileColumns; ++j) {
    for (int v = 0; v < V; ++v) held[j][v] = pset1<Packet>(start[j]);
  }
  for (std::int64_t k = 0; k < terms; ++k) {
    Packet lanes[V];
    for (int v = 0; v < V; ++v) lanes[v] = ploadu<Packet>(at[v].x + k * step);
    for (int j = 0; j < kTileColumns; ++j) {
      const Packet value = pset1<Packet>(w[k * kStrip + j]);
      for (int v = 0; v < V; ++v) held[j][v] = pmadd(value, lanes[v], held[j][v]);
    }
  }
  for (int j = 0; j < kTileColumns; ++j) {
    if (j >= columns) return;
    for (int v = 0; v < V; ++v) pstoreu(at[v].out + (column + j) * out_step, held[j][v]);
  }
}

// W [k, n] in strips [strip][k][kStrip], the last one padded with zeros.
std::shared_ptr<const std::vector<float>> pack_strips(const Tensor& matrix, bool transposed) {
  const std::int64_t columns = matrix.shape.back(), rows = matrix.size() / std::max<std::int64_t>(1, columns);
  const std::int64_t k = transposed ? columns : rows, n = transposed ? rows : columns, strips = (n + kStrip - 1) / kStrip;
  std::vector<float> packed(static_cast<std::size_t>(strips * k * kStrip), 0.0F);
  for (std::int64_t l = 0; l < k; ++l) {
    for (std::int64_t j = 0; j < n; ++j)
      packed[(j / kStrip * k + l) * kStrip + j % kStrip] = matrix.data[transposed ? j * columns + l : l * columns + j];
  }
  return std::make_shared<const std::vector<float>>(std::move(packed));
}

// The layout of x: row i of a matrix begins at i * row_step, its elements are element_step apart, and lanes are contiguous.
struct Layout {
  std::int64_t rows, row_step, element_step, lanes;
  const float* at(const float* x, std::int64_t row) const { return x + row / lanes * row_step + row % lanes; }
};

class RowsMatmul {
 public:
  RowsMatmul(const std::shared_ptr<const Tensor>& matrix, const MatmulAttributes& t, const std::vector<float>& bias)
      : k_(matrix->shape[matrix->shape.size() - (t.transpose_b ? 1 : 2)]),
        n_(matrix->shape[matrix->shape.size() - (t.transpose_b ? 2 : 1)]),
        transpose_a_(t.transpose_a),
        strips_(shared_form<std::vector<float>>(matrix, Form::strips, {t.transpose_b ? 1 : 0},
                                                [&] { return pack_strips(*matrix, t.transpose_b); })),
        start_(static_cast<std::size_t>((n_ + kStrip - 1) / kStrip * kStrip), 0.0F) {
    std::copy(bias.begin(), bias.end(), start_.begin());
  }

  std::int64_t packed_bytes() const { return static_cast<std::int64_t>(strips_->size()) * kFloat; }

  // Both branches add terms in the order of k, so that the result does not depend on the number of lanes.
  void operator()(const Call& call) const {
    const Shape& shape = *call.shape;
    const std::int64_t m = shape[shape.size() - 2], matrices = element_count(shape) / std::max<std::int64_t>(1, m * n_);
    const Layout layout{m, (transpose_a_ ? 1 : k_) * call.lanes, (transpose_a_ ? m : 1) * call.lanes, call.lanes};
    for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
      const float* const x = call.in[0].data + matrix * m * k_ * call.lanes;
      float* const out = call.out + matrix * m * n_ * call.lanes;
      if (call.lanes >= kPacket) {
        multiply_lanes(call, layout, x, out);
      } else {
        multiply_rows(call, layout, x, out);
      }
    }
  }

 private:
  // Multiplies vectors of lanes: some rows that stay in the second-level cache, times one strip of W after the other.
  void multiply_lanes(const Call& call, const Layout& layout, const float* x, float* out) const {
    const std::int64_t together = std::max<std::int64_t>(1, kRowBytes / kFloat / std::max<std::int64_t>(1, k_ * layout.lanes));
    for (std::int64_t first = 0; first < layout.rows; first += together) {
      const std::int64_t end = std::min(layout.rows, first + together);
      const std::vector<LanesOfRow> vectors = vectors_of(layout, first, end, x, out);
      for (std::int64_t column = 0; column < n_; column += kStrip) {
        call.stop_if_asked();
        multiply_vectors(layout, vectors, column);
      }
      call.finish(out + first * n_ * layout.lanes - call.out, (end - first) * n_ * layout.lanes);
    }
  }

  // The vectors of lanes in rows first .. end - 1. The last two vectors of a row may overlap.
  std::vector<LanesOfRow> vectors_of(const Layout& layout, std::int64_t first, std::int64_t end, const float* x,
                                     float* out) const {
    std::vector<LanesOfRow> all;
    for (std::int64_t row = first; row < end; ++row) {
      for (std::int64_t lane = 0; lane < layout.lanes; lane += kPacket) {
        const std::int64_t from = std::min(lane, layout.lanes - kPacket);
        all.push_back({x + row * layout.row_step + from, out + row * n_ * layout.lanes + from});
      }
    }
    return all;
  }

  void multiply_vectors(const Layout& layout, const std::vector<LanesOfRow>& vectors, std::int64_t first) const {
    const auto count = static_cast<std::int64_t>(vectors.size()), end = std::min(n_, first + kStrip);
    for (std::int64_t i = 0; i < count; i += kStripPackets) {
      const auto multiply = count - i >= 3 ? lanes_tile<3> : count - i == 2 ? lanes_tile<2> : lanes_tile<1>;
      for (std::int64_t j = first; j < end; j += kTileColumns) {
        multiply(vectors.data() + i, layout.element_step, strips_->data() + first * k_ + (j - first), k_, start_.data() + j,
                 end - j, j, layout.lanes);
      }
    }
  }

  void multiply_rows(const Call& call, const Layout& layout, const float* x, float* out) const {
    const std::int64_t all = layout.rows * layout.lanes,
                       together = std::min(std::max(kSumBytes / kFloat / kStrip / kTileRows, std::int64_t{1}) * kTileRows, all);
    float* const sums = call.scratch(together * kStrip);
    for (std::int64_t first = 0; first < all; first += together) {
      const std::int64_t end = std::min(all, first + together);
      for (std::int64_t column = 0; column < n_; column += kStrip) {
        call.stop_if_asked();
        multiply_strip(layout, x, first, end, column, sums);
        store(layout, first, end, column, sums, out);
      }
    }
    call.finish(out - call.out, all * n_);
  }

  // Multiplies rows first .. end - 1 by a strip of W. Here, each lane of a row of x counts as one row.
  void multiply_strip(const Layout& layout, const float* x, std::int64_t first, std::int64_t end, std::int64_t column,
                      float* sums) const {
    const float* const w = strips_->data() + column * k_;
    const std::int64_t width = std::min(kStrip, n_ - column);
    for (std::int64_t row = first; row < end; ++row) std::copy_n(start_.data() + column, kStrip, sums + (row - first) * kStrip);
    for (std::int64_t k = 0; k < k_; k += kMostTerms) {
      const std::int64_t terms = std::min(kMostTerms, k_ - k);
      std::int64_t row = first;
      for (; row + kTileRows <= end; row += kTileRows) {
        const float* rows[kTileRows];
        for (int i = 0; i < kTileRows; ++i) rows[i] = layout.at(x, row + i) + k * layout.element_step;
        add_rows<kTileRows>(rows, layout.element_step, w + k * kStrip, terms, width, sums + (row - first) * kStrip);
      }
      for (; row < end; ++row) {
        const float* const one = layout.at(x, row) + k * layout.element_step;
        add_rows<1>(&one, layout.element_step, w + k * kStrip, terms, width, sums + (row - first) * kStrip);
      }
    }
  }

  void store(const Layout& layout, std::int64_t first, std::int64_t end, std::int64_t column, const float* sums,
             float* out) const {
    const std::int64_t width = std::min(kStrip, n_ - column), lanes = layout.lanes;
    for (std::int64_t row = first; row < end; ++row) {
      const float* const from = sums + (row - first) * kStrip;
      float* const to = out + (row / lanes * n_ + column) * lanes + row % lanes;
      if (lanes == 1) {
        std::copy_n(from, width, to);
      } else {
        for (std::int64_t j = 0; j < width; ++j) to[j * lanes] = from[j];
      }
    }
  }

  std::int64_t k_, n_;
  bool transpose_a_;
  std::shared_ptr<const std::vector<float>> strips_;
  std::vector<float> start_;  // initial value of the sums: the bias, padded
};

}  // namespace

Product make_rows_matmul(const Graph& graph, const Node& node, const std::vector<float>& bias) {
  const std::int64_t rows = node.shape.size() > 1 ? node.shape[node.shape.size() - 2] : 1;
  if (rows <= 1 || constant_factor(graph, node) != node.inputs[1]) return {};
  const auto& matrix = std::get<ConstantData>(graph[node.inputs[1]].attributes).tensor;
  RowsMatmul kernel(matrix, std::get<MatmulAttributes>(node.attributes), bias);
  const std::int64_t bytes = kernel.packed_bytes();
  return {std::move(kernel), rows, bytes};
}

}  // namespace probust::cpu
