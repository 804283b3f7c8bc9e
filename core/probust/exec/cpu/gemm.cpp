// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/gemm.h"

#include <algorithm>

namespace probust::cpu {
namespace {

using Strided = Eigen::Map<Eigen::MatrixXf, 0, Eigen::OuterStride<>>;
using ConstStrided = Eigen::Map<const Eigen::MatrixXf, 0, Eigen::OuterStride<>>;

// Exactly the kernel's own height: a taller group would end in a shorter kernel, which sums in another order.
constexpr std::int64_t kRowGroup = Eigen::internal::gebp_traits<float, float>::mr;

}  // namespace

std::int64_t row_group() { return kRowGroup; }

std::int64_t multiply_scratch(std::int64_t k, std::int64_t n) {
  return kRowGroup * (k + n) * static_cast<std::int64_t>(sizeof(float));
}

void multiply_whole(std::int64_t rows, const float* a, std::int64_t a_stride, const Weights& w, float* out,
                    std::int64_t out_stride) {
  if (rows == 0) return;
  Strided result(out, rows, w.cols(), Eigen::OuterStride<>(out_stride));
  const ConstStrided left(a, rows, w.rows(), Eigen::OuterStride<>(a_stride));
  if (w.cols() == 1) {
    // Eigen would call its matrix-vector product, whose order of summation depends on the number of rows.
    result.col(0) = left.col(0) * w(0, 0);
    for (std::int64_t k = 1; k < w.rows(); ++k) result.col(0) += left.col(k) * w(k, 0);
    return;
  }
  result.noalias() = left * w;
}

void multiply(std::int64_t rows, const float* a, std::int64_t a_stride, const Weights& w, float* out, std::int64_t out_stride,
              std::vector<float>& scratch) {
  const std::int64_t whole = rows / kRowGroup * kRowGroup, rest = rows - whole, k = w.rows(), n = w.cols();
  multiply_whole(whole, a, a_stride, w, out, out_stride);
  if (rest == 0) return;
  if (static_cast<std::int64_t>(scratch.size()) < kRowGroup * (k + n))
    scratch.resize(static_cast<std::size_t>(kRowGroup * (k + n)));
  float* padded = scratch.data();
  float* product = padded + kRowGroup * k;
  for (std::int64_t column = 0; column < k; ++column) {
    std::copy_n(a + column * a_stride + whole, rest, padded + column * kRowGroup);
    std::fill_n(padded + column * kRowGroup + rest, kRowGroup - rest, 0.0F);
  }
  multiply_whole(kRowGroup, padded, kRowGroup, w, product, kRowGroup);
  for (std::int64_t column = 0; column < n; ++column)
    std::copy_n(product + column * kRowGroup, rest, out + column * out_stride + whole);
}

}  // namespace probust::cpu
