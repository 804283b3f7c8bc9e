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
template <Index Height>
using Multiply = Eigen::internal::gebp_kernel<float, float, Index, To, Height, Traits::nr, false, false>;

// The kernel takes groups of kTall or of kLow rows, and in the same order; what is left below kLow it would sum in another one.
constexpr Index kPacket = Traits::LhsProgress, kLow = 2 * kPacket, kTall = std::max<Index>(Traits::mr, kLow);
static_assert(kTall == kLow || kTall == kLow + kPacket);

constexpr Index kMostDepth = 256;          // a group and four columns of weights stay in the first-level cache
constexpr Index kPackedBytes = 128 << 10;  // packed rows, in the second-level cache
constexpr Index kAlignment = EIGEN_MAX_ALIGN_BYTES;
constexpr auto kFloat = static_cast<Index>(sizeof(float));

constexpr Index whole(Index count, Index group) { return (count + group - 1) / group * group; }

// How many of the last rows do not go in whole tall groups: so many that they fill low ones with as little padding as can be.
Index rest_of(Index rows) {
  if (rows % kTall == 0) return 0;
  const Index packets = whole(rows, kPacket) / kPacket, over = packets % (kTall / kPacket);
  const Index taken = over == 0 ? kTall / kPacket : over == 1 && kTall > kLow ? 4 : 2;
  return rows - std::max<Index>(0, packets - taken) * kPacket;
}

// Rows [count, depth] in groups: [group][depth][row of the group], the last one filled up with zeros.
template <Index Height>
void pack(const float* a, Index stride, Index count, Index depth, float* packed) {
  const Index groups = count / Height * Height, rest = count - groups;
  for (Index k = 0; k < depth; ++k) {
    const float* column = a + k * stride;
    for (Index row = 0; row < groups; row += Height) std::copy_n(column + row, Height, packed + row * depth + k * Height);
    if (rest == 0) continue;
    float* last = packed + groups * depth + k * Height;
    std::fill(std::copy_n(column + groups, rest, last), last + Height, 0.0F);
  }
}

// Adds the product of `count` rows, and of as many zeros as fill their last group.
template <Index Height>
void multiply_groups(Index count, const float* a, Index a_stride, const Weights& w, const To& out, float* packed) {
  for (std::int64_t k = 0; k < w.rows(); k += w.depth()) {
    const Index depth = static_cast<Index>(std::min(w.depth(), w.rows() - k));
    pack<Height>(a + k * a_stride, a_stride, count, depth, packed);
    Multiply<Height>()(out, packed, w.block(k), whole(count, Height), depth, w.cols(), 1.0F);
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
  return std::min(std::max<Index>(1, kPackedBytes / kFloat / w.depth() / kTall), rows / kTall + 1) * kTall;
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
  return std::max(rows_a_block(rows, w), 2 * kLow) * w.depth() + 2 * kLow * w.cols() + kAlignment / kFloat;
}

void multiply(std::int64_t rows, const float* a, std::int64_t a_stride, const Weights& w, const float* bias, float* out,
              std::int64_t out_stride, float* scratch) {
  const Index n = w.cols(), rest = rest_of(rows), tall = rows - rest, block = rows_a_block(rows, w);
  float* packed = aligned(scratch);
  const auto begin_with_bias = [&](float* to, Index stride, Index count) {
    for (Index column = 0; column < n; ++column) std::fill_n(to + column * stride, count, bias == nullptr ? 0.0F : bias[column]);
  };
  begin_with_bias(out, out_stride, rows);
  for (Index first = 0; first < tall; first += block)
    multiply_groups<kTall>(std::min(block, tall - first), a + first, a_stride, w, To(out + first, out_stride), packed);
  if (rest == 0) return;
  const bool low = rest <= kLow || rest > kTall;
  const Index padded = whole(rest, low ? kLow : kTall);
  const auto multiply_rest = [&](const To& to) {
    if (low) {
      multiply_groups<kLow>(rest, a + tall, a_stride, w, to, packed);
    } else {
      multiply_groups<kTall>(rest, a + tall, a_stride, w, to, packed);
    }
  };
  if (padded == rest) return multiply_rest(To(out + tall, out_stride));
  float* product = packed + std::max(block, 2 * kLow) * w.depth();
  begin_with_bias(product, padded, padded);
  multiply_rest(To(product, padded));
  for (Index column = 0; column < n; ++column) std::copy_n(product + column * padded, rest, out + column * out_stride + tall);
}

}  // namespace probust::cpu
