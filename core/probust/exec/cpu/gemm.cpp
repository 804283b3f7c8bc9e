// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/gemm.h"

#include <algorithm>
#include <array>

#include "probust/exec/cpu/block.h"

#ifdef __wasm_simd128__
#include "probust/exec/cpu/wasm_products.h"
#endif

namespace probust::cpu {
namespace {

using Eigen::Index;
using To = Eigen::internal::blas_data_mapper<float, Index, Eigen::ColMajor>;
using From = Eigen::internal::const_blas_data_mapper<float, Index, Eigen::ColMajor>;

// The kernel and its tile. In tiles of full height, including those of the transposed product, the kernel always sums in the same
// order; in lower tiles, it uses a different order.
#ifdef __wasm_simd128__
constexpr Index kHeight = WasmProducts::kHeight, kWidth = WasmProducts::kWidth;
using Multiply = WasmProducts;
#else
using Traits = Eigen::internal::gebp_traits<float, float>;
constexpr Index kHeight = Traits::mr, kWidth = Traits::nr;
using Multiply = Eigen::internal::gebp_kernel<float, float, Index, To, kHeight, kWidth, false, false>;
#endif
using PackColumns = Eigen::internal::gemm_pack_rhs<float, Index, From, kWidth, Eigen::ColMajor>;

// With this depth, a group and four columns of weights fit the first-level cache. Short sums also have smaller rounding errors:
// the p of adf, which is the most sensitive to rounding, differed half as much between two CPUs as with a depth of 256.
constexpr Index kMostDepth = 128;
constexpr Index kPackedBytes = 128 << 10;  // limit for packed rows, which should stay in the second-level cache

constexpr Index whole(Index count, Index group) { return (count + group - 1) / group * group; }

// Packs rows [count, depth] in groups: [group][depth][row of the group], the last group padded with zeros.
template <Index Group>
void pack(const float* a, Index stride, Index count, Index depth, float* packed) {
  const Index groups = count / Group * Group, rest = count - groups;
  for (Index k = 0; k < depth; ++k) {
    const float* column = a + k * stride;
    for (Index row = 0; row < groups; row += Group) std::copy_n(column + row, Group, packed + row * depth + k * Group);
    if (rest == 0) continue;
    float* last = packed + groups * depth + k * Group;
    std::fill(std::copy_n(column + groups, rest, last), last + Group, 0.0F);
  }
}

// The number of rows, out of `tall`, to pack at once: a whole number of groups.
Index rows_a_block(Index tall, const Weights& w) {
  return std::min(std::max<Index>(1, kPackedBytes / kFloat / w.depth() / kHeight) * kHeight, tall);
}

// The depth of blocks of equal size, a multiple of 8 because Eigen's kernel unrolls by 8.
Index balanced_depth(Index k) {
  const Index blocks = std::max<Index>(1, (k + kMostDepth - 1) / kMostDepth);
  return std::max<Index>(8, ((k + blocks - 1) / blocks + 7) / 8 * 8);
}

// Calls add(k, depth) for every block of weights.
template <class Add>
void each_block(const Weights& w, Add add) {
  for (std::int64_t k = 0; k < w.rows(); k += w.depth())
    add(static_cast<Index>(k), static_cast<Index>(std::min(w.depth(), w.rows() - k)));
}

// Adds the product of `tall` rows, a whole number of groups.
void multiply_groups(Index tall, const float* a, Index a_stride, const Weights& w, float* out, Index out_stride,
                     Stretch& memory) {
  const Index block = rows_a_block(tall, w);
  float* const packed = memory.take(block * w.depth());
  for (Index first = 0; first < tall; first += block) {
    const Index count = std::min(block, tall - first);
    each_block(w, [&](Index k, Index depth) {
      pack<kHeight>(a + first + k * a_stride, a_stride, count, depth, packed);
      Multiply()(To(out + first, out_stride), packed, w.columns(k), count, depth, w.cols(), 1.0F);
    });
  }
}

// Adds the product of fewer rows than a group, padded with zeros to a group.
void multiply_padded(Index count, const float* a, Index a_stride, const Weights& w, const float* bias, const To& out,
                     Stretch& memory) {
  const auto parts = memory.take(std::array<std::int64_t, 2>{kHeight * w.depth(), kHeight * w.cols()});
  float *const packed = parts[0], *const product = parts[1];
  for (Index column = 0; column < w.cols(); ++column)
    std::fill_n(product + column * kHeight, kHeight, bias == nullptr ? 0.0F : bias[column]);
  each_block(w, [&](Index k, Index depth) {
    pack<kHeight>(a + k * a_stride, a_stride, count, depth, packed);
    Multiply()(To(product, kHeight), packed, w.columns(k), kHeight, depth, w.cols(), 1.0F);
  });
  for (Index column = 0; column < w.cols(); ++column) std::copy_n(product + column * kHeight, count, &out(0, column));
}

// multiply_padded as a transposed product: rows are padded only to the width of the tile, not to its height.
void multiply_turned(Index count, const float* a, Index a_stride, const Weights& w, const float* bias, const To& out,
                     Stretch& memory) {
  const Index n = w.cols(), height = whole(n, kHeight), width = whole(count, kWidth);
  const auto parts = memory.take(std::array<std::int64_t, 2>{width * w.depth(), width * height});
  float *const packed = parts[0], *const product = parts[1];
  for (Index row = 0; row < width; ++row) {
    float* const begin = product + row * height;
    if (bias == nullptr) {
      std::fill_n(begin, height, 0.0F);
    } else {
      std::fill(std::copy_n(bias, n, begin), begin + height, 0.0F);
    }
  }
  each_block(w, [&](Index k, Index depth) {
    pack<kWidth>(a + k * a_stride, a_stride, count, depth, packed);
    Multiply()(To(product, height), w.groups(k), packed, height, depth, width, 1.0F);
  });
  for (Index column = 0; column < n; ++column) {
    for (Index row = 0; row < count; ++row) out(row, column) = product[row * height + column];
  }
}

// Packs the columns of a [depth, count] matrix as rows of the transpose: groups of kHeight columns, the last one padded with
// zeros.
void pack_transposed(const float* a, Index depth, Index count, float* packed) {
  for (Index first = 0; first < count; first += kHeight) {
    const Index own = std::min<Index>(kHeight, count - first);
    const float* const from = a + first * depth;
    float* const to = packed + first * depth;
    if (own < kHeight) std::fill_n(to, kHeight * depth, 0.0F);
    Index row = 0;
    for (; row + kPacket <= own; row += kPacket) {
      Index k = 0;
      for (; k + kPacket <= depth; k += kPacket) {
        Square block;
        for (Index j = 0; j < kPacket; ++j) block.packet[j] = Eigen::internal::ploadu<Packet>(from + (row + j) * depth + k);
        Eigen::internal::ptranspose(block);
        for (Index j = 0; j < kPacket; ++j) Eigen::internal::pstoreu(to + (k + j) * kHeight + row, block.packet[j]);
      }
      for (; k < depth; ++k) {
        for (Index j = 0; j < kPacket; ++j) to[k * kHeight + row + j] = from[(row + j) * depth + k];
      }
    }
    for (; row < own; ++row) {
      for (Index k = 0; k < depth; ++k) to[k * kHeight + row] = from[row * depth + k];
    }
  }
}

// Transposes a block of packed columns [depth, n] into packed rows: groups of kHeight columns, the last one padded with zeros.
void turn(const float* columns, Index depth, Index n, float* groups) {
  const Index wide = n / kWidth * kWidth;
  for (Index column = 0; column < whole(n, kHeight); ++column) {
    float* const to = groups + column / kHeight * kHeight * depth + column % kHeight;
    const Index step = column < wide ? kWidth : 1;
    const float* from = columns + column / kWidth * kWidth * depth + (column < wide ? column % kWidth : (column - wide) * depth);
    for (Index k = 0; k < depth; ++k) to[k * kHeight] = column < n ? from[k * step] : 0.0F;
  }
}

}  // namespace

Weights::Weights(std::int64_t rows, std::int64_t columns, Rest rest, const Rows& w)
    : rows_(rows),
      columns_(columns),
      height_(whole(columns, kHeight)),
      depth_(balanced_depth(rows)),
      rest_(rest),
      by_columns_(rows * columns) {
  each_block(*this, [&](Index k, Index depth) {
    const Eigen::MatrixXf block = w(k, depth);
    PackColumns()(by_columns_.data() + k * columns_, From(block.data(), block.rows()), depth, columns_);
  });
}

Weights::Weights(const Eigen::MatrixXf& w, Rest rest)
    : Weights(w.rows(), w.cols(), rest, [&](std::int64_t first, std::int64_t count) { return w.middleRows(first, count); }) {}

const float* Weights::groups(std::int64_t first) const {
  std::call_once(turned_, [this] {
    by_groups_.resize(rows_ * height_);
    each_block(*this, [&](Index k, Index depth) { turn(columns(k), depth, columns_, by_groups_.data() + k * height_); });
  });
  return by_groups_.data() + first * height_;
}

void multiply(std::int64_t rows, const float* a, std::int64_t a_stride, const Weights& w, const float* bias, float* out,
              std::int64_t out_stride, Stretch& packed) {
  const Index n = w.cols(), rest = rows % kHeight, tall = rows - rest;
  for (Index column = 0; column < n; ++column)
    std::fill_n(out + column * out_stride, tall, bias == nullptr ? 0.0F : bias[column]);
  if (tall > 0) multiply_groups(tall, a, a_stride, w, out, out_stride, packed);
  if (rest == 0) return;
  const auto multiply_rest = w.rest() == Weights::Rest::padded ? multiply_padded : multiply_turned;
  multiply_rest(rest, a + tall, a_stride, w, bias, To(out + tall, out_stride), packed);
}

std::int64_t padded_rows(std::int64_t rows) { return whole(rows, kHeight); }

void add_transposed_product(const TransposedProduct& size, const float* a, const float* b, float* sums, Stretch& packed) {
  const Index height = whole(size.rows, kHeight);
  const auto [rows, columns] = packed.take(std::array<std::int64_t, 2>{height * size.depth, size.depth * size.columns});
  pack_transposed(a, size.depth, size.rows, rows);
  PackColumns()(columns, From(b, size.depth), size.depth, size.columns);
  Multiply()(To(sums, height), rows, columns, height, size.depth, size.columns, 1.0F);
}

}  // namespace probust::cpu
