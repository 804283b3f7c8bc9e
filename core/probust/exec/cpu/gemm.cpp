// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/gemm.h"

#include <algorithm>
#include <memory>

#ifdef __wasm_simd128__
#include "probust/exec/cpu/wasm_products.h"
#endif

namespace probust::cpu {
namespace {

using Eigen::Index;
using To = Eigen::internal::blas_data_mapper<float, Index, Eigen::ColMajor>;
using From = Eigen::internal::const_blas_data_mapper<float, Index, Eigen::ColMajor>;

// The kernel and its tile: it sums every element of a whole tile in the same order, whichever way round the product is, and
// every element of less than a tile's height in another one.
#ifdef __wasm_simd128__
constexpr Index kHeight = WasmProducts::kHeight, kWidth = WasmProducts::kWidth;
using Multiply = WasmProducts;
#else
using Traits = Eigen::internal::gebp_traits<float, float>;
constexpr Index kHeight = Traits::mr, kWidth = Traits::nr;
using Multiply = Eigen::internal::gebp_kernel<float, float, Index, To, kHeight, kWidth, false, false>;
#endif
using PackColumns = Eigen::internal::gemm_pack_rhs<float, Index, From, kWidth, Eigen::ColMajor>;

// A group and four columns of weights stay in the first-level cache, and short sums lose less to rounding: the p of adf, the most
// sensitive to it, is half as far apart on two processors as with 256.
constexpr Index kMostDepth = 128;
constexpr Index kPackedBytes = 128 << 10;  // packed rows, in the second-level cache
constexpr Index kAlignment = EIGEN_MAX_ALIGN_BYTES;
constexpr auto kFloat = static_cast<Index>(sizeof(float));

constexpr Index whole(Index count, Index group) { return (count + group - 1) / group * group; }

// Rows [count, depth] in groups: [group][depth][row of the group], the last one filled up with zeros.
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

// Where SIMD may load from.
float* aligned(float* scratch) {
  void* place = scratch;
  std::size_t space = kAlignment + 1;
  return static_cast<float*>(std::align(kAlignment, 1, place, space));
}

// Rows that are packed together.
Index rows_a_block(Index rows, const Weights& w) {
  return std::min(std::max<Index>(1, kPackedBytes / kFloat / w.depth() / kHeight) * kHeight, rows / kHeight * kHeight);
}

// Blocks of equal depth, in the eights by which Eigen's kernel unrolls.
Index balanced_depth(Index k) {
  const Index blocks = std::max<Index>(1, (k + kMostDepth - 1) / kMostDepth);
  return std::max<Index>(8, ((k + blocks - 1) / blocks + 7) / 8 * 8);
}

// Calls add(k, depth) for the blocks of weights.
template <class Add>
void each_block(const Weights& w, Add add) {
  for (std::int64_t k = 0; k < w.rows(); k += w.depth())
    add(static_cast<Index>(k), static_cast<Index>(std::min(w.depth(), w.rows() - k)));
}

// Adds the product of whole groups of rows.
void multiply_groups(Index count, const float* a, Index a_stride, const Weights& w, const To& out, float* packed) {
  each_block(w, [&](Index k, Index depth) {
    pack<kHeight>(a + k * a_stride, a_stride, count, depth, packed);
    Multiply()(out, packed, w.columns(k), count, depth, w.cols(), 1.0F);
  });
}

// The product of less than a group of rows, the other way round, where a group is of columns: a row more is a fourth of a tile.
void multiply_rest(Index count, const float* a, Index a_stride, const Weights& w, const float* bias, const To& out,
                   float* packed) {
  const Index n = w.cols(), height = whole(n, kHeight), width = whole(count, kWidth);
  float* const product = packed + width * w.depth();
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

}  // namespace

Weights::Weights(const Eigen::MatrixXf& w)
    : rows_(w.rows()),
      columns_(w.cols()),
      height_(whole(w.cols(), kHeight)),
      depth_(balanced_depth(w.rows())),
      by_columns_(w.size()),
      by_groups_(w.rows() * height_) {
  const Eigen::MatrixXf transposed = w.transpose();
  each_block(*this, [&](Index k, Index depth) {
    PackColumns()(by_columns_.data() + k * columns_, From(w.data() + k, w.rows()), depth, w.cols());
    pack<kHeight>(transposed.data() + k * w.cols(), w.cols(), w.cols(), depth, by_groups_.data() + k * height_);
  });
}

std::int64_t multiply_scratch(std::int64_t rows, const Weights& w) {
  const std::int64_t rest = whole(rows % kHeight, kWidth);
  return std::max(rows_a_block(rows, w) * w.depth(), rest * (w.depth() + whole(w.cols(), kHeight))) + kAlignment / kFloat;
}

void multiply(std::int64_t rows, const float* a, std::int64_t a_stride, const Weights& w, const float* bias, float* out,
              std::int64_t out_stride, float* scratch) {
  const Index n = w.cols(), rest = rows % kHeight, tall = rows - rest, block = rows_a_block(rows, w);
  float* packed = aligned(scratch);
  for (Index column = 0; column < n; ++column)
    std::fill_n(out + column * out_stride, tall, bias == nullptr ? 0.0F : bias[column]);
  for (Index first = 0; first < tall; first += block)
    multiply_groups(std::min(block, tall - first), a + first, a_stride, w, To(out + first, out_stride), packed);
  if (rest > 0) multiply_rest(rest, a + tall, a_stride, w, bias, To(out + tall, out_stride), packed);
}

}  // namespace probust::cpu
