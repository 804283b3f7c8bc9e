// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/gemm.h"

#include <algorithm>
#include <memory>

namespace probust::cpu {
namespace {

using Eigen::Index;
using Traits = Eigen::internal::gebp_traits<float, float>;
using To = Eigen::internal::blas_data_mapper<float, Index, Eigen::ColMajor>;
using From = Eigen::internal::const_blas_data_mapper<float, Index, Eigen::ColMajor>;
using PackWeights = Eigen::internal::gemm_pack_rhs<float, Index, From, Traits::nr, Eigen::ColMajor>;
using Multiply = Eigen::internal::gebp_kernel<float, float, Index, To, Traits::mr, Traits::nr, false, false>;

// Exactly the kernel's own height: a taller group would end in a shorter kernel, which sums in another order.
constexpr Index kGroup = Traits::mr;
constexpr Index kMostDepth = 256;          // a group and four columns of weights stay in the first-level cache
constexpr Index kPackedBytes = 128 << 10;  // packed rows, in the second-level cache
constexpr Index kAlignment = EIGEN_MAX_ALIGN_BYTES;
constexpr auto kFloat = static_cast<Index>(sizeof(float));

// Rows [count, depth] in groups: [group][depth][row of the group], the last one filled up with zeros.
void pack(const float* a, Index stride, Index count, Index depth, float* packed) {
  const Index whole = count / kGroup * kGroup, rest = count - whole;
  for (Index k = 0; k < depth; ++k) {
    const float* column = a + k * stride;
    for (Index row = 0; row < whole; row += kGroup) std::copy_n(column + row, kGroup, packed + row * depth + k * kGroup);
    if (rest == 0) continue;
    float* last = packed + whole * depth + k * kGroup;
    std::fill(std::copy_n(column + whole, rest, last), last + kGroup, 0.0F);
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
  return std::min(std::max<Index>(1, kPackedBytes / kFloat / w.depth() / kGroup), rows / kGroup + 1) * kGroup;
}

// Blocks of equal depth, in the eights by which the kernel unrolls.
Index balanced_depth(Index k) {
  const Index blocks = std::max<Index>(1, (k + kMostDepth - 1) / kMostDepth);
  return std::max<Index>(8, ((k + blocks - 1) / blocks + 7) / 8 * 8);
}

}  // namespace

Weights::Weights(const Eigen::MatrixXf& w)
    : rows_(w.rows()), columns_(w.cols()), depth_(balanced_depth(w.rows())), packed_(w.size()) {
  for (std::int64_t first = 0; first < rows_; first += depth_) {
    const Index depth = std::min<Index>(depth_, rows_ - first);
    PackWeights()(packed_.data() + first * columns_, From(w.data() + first, w.rows()), depth, columns_);
  }
}

std::int64_t multiply_scratch(std::int64_t rows, const Weights& w) {
  return rows_a_block(rows, w) * w.depth() + kGroup * w.cols() + kAlignment / kFloat;
}

void multiply(std::int64_t rows, const float* a, std::int64_t a_stride, const Weights& w, float* out, std::int64_t out_stride,
              float* scratch) {
  const Index n = w.cols(), whole = rows / kGroup * kGroup, rest = rows - whole;
  const Index block = rows_a_block(rows, w);
  float* packed = aligned(scratch);
  float* last = packed + block * w.depth();  // the product of the last group
  for (Index column = 0; column < n; ++column) std::fill_n(out + column * out_stride, whole, 0.0F);
  std::fill_n(last, kGroup * n, 0.0F);
  for (Index first = 0; first < rows; first += block) {
    const Index count = std::min<Index>(block, rows - first), groups = count / kGroup * kGroup;
    for (Index k = 0; k < w.rows(); k += w.depth()) {
      const Index depth = std::min<Index>(w.depth(), w.rows() - k);
      pack(a + k * a_stride + first, a_stride, count, depth, packed);
      if (groups > 0) Multiply()(To(out + first, out_stride), packed, w.block(k), groups, depth, n, 1.0F);
      if (groups < count) Multiply()(To(last, kGroup), packed + groups * depth, w.block(k), kGroup, depth, n, 1.0F);
    }
  }
  for (Index column = 0; column < n; ++column) std::copy_n(last + column * kGroup, rest, out + column * out_stride + whole);
}

}  // namespace probust::cpu
