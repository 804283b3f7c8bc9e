// SPDX-License-Identifier: MIT
#include "probust/exec/host/host_rows.h"

#include <algorithm>
#include <array>

#include "probust/exec/programs/workspace.h"

namespace probust {
namespace {

constexpr Eigen::Index kGroup = 16;  // lanes whose sums stay in registers

// The products of rows a, ..., a + Rows - 1 of u and the noise of kGroup samples.
template <int Rows>
Eigen::Matrix<double, Rows, kGroup> products(const RowMatrix& u, Eigen::Index a, const float* x, const float* noisy,
                                             std::int64_t stride) {
  using Group = Eigen::Array<double, kGroup, 1>;
  std::array<Group, Rows> sums;
  sums.fill(Group::Zero());
  const double* const row = &u(a, 0);
  for (Eigen::Index e = 0; e < u.cols(); ++e) {
    const Group eps = Eigen::Map<const Eigen::Array<float, kGroup, 1>>(noisy + e * stride).template cast<double>() - double{x[e]};
    for (int k = 0; k < Rows; ++k) sums[k] += row[k * u.cols() + e] * eps;
  }
  Eigen::Matrix<double, Rows, kGroup> result;
  for (int k = 0; k < Rows; ++k) result.row(k) = sums[k].matrix().transpose();
  return result;
}

void group_along(const RowMatrix& u, const float* x, const float* noisy, std::int64_t stride, Eigen::Ref<Eigen::MatrixXd> along) {
  for (Eigen::Index a = 0; a < u.rows(); a += 3) {
    const Eigen::Index rows = std::min<Eigen::Index>(3, u.rows() - a);
    const auto store = [&](const auto& all) { along.middleRows(a, rows) = all.leftCols(along.cols()); };
    if (rows == 1) store(products<1>(u, a, x, noisy, stride));
    if (rows == 2) store(products<2>(u, a, x, noisy, stride));
    if (rows == 3) store(products<3>(u, a, x, noisy, stride));
  }
}

}  // namespace

Eigen::MatrixXd gram_of(const RowMatrix& u, const StopToken& stop) {
  constexpr Eigen::Index kBlock = 64;
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(u.rows(), u.rows()), block(u.rows(), kBlock);
  for (Eigen::Index first = 0; first < u.cols(); first += kBlock) {
    stop_if_asked(&stop);
    const Eigen::Index width = std::min(kBlock, u.cols() - first);
    block.setZero();
    block.leftCols(width) = u.middleCols(first, width);
    sum.noalias() += block * block.transpose();
  }
  return sum;
}

// Processes a few elements at a time, so that both sides stay in the cache.
void unpack(const float* gradients, std::int64_t first_row, std::int64_t seeds, std::vector<RowMatrix>& to) {
  constexpr std::int64_t kTogether = 16;
  const auto count = static_cast<std::int64_t>(to.size());
  for (std::int64_t begin = 0; begin < to[0].cols(); begin += kTogether) {
    const std::int64_t end = std::min<std::int64_t>(begin + kTogether, to[0].cols());
    for (std::int64_t s = 0; s < seeds; ++s) {
      for (std::int64_t b = 0; b < count; ++b) {
        for (std::int64_t e = begin; e < end; ++e) to[b](first_row + s, e) = gradients[(e * seeds + s) * count + b];
      }
    }
  }
}

void pack(const std::vector<RowMatrix>& from, std::int64_t first_row, std::int64_t seeds, float* gradients) {
  for (Eigen::Index e = 0; e < from[0].cols(); ++e) {
    for (std::int64_t s = 0; s < seeds; ++s) {
      for (const RowMatrix& rows : from) *gradients++ = static_cast<float>(rows(first_row + s, e));
    }
  }
}

void add_rows(const GradientRows& gradients, RowMatrix& sums) {
  const float* g = gradients.data;
  for (Eigen::Index e = 0; e < sums.cols(); ++e) {
    for (std::int64_t s = 0; s < gradients.seeds; ++s, g += gradients.stride) {
      double sum = sums(gradients.first_row + s, e);
      for (std::int64_t b = 0; b < gradients.lanes; ++b) sum += g[b];
      sums(gradients.first_row + s, e) = sum;
    }
  }
}

void add_products(const GradientRows& gradients, std::int64_t elements, const float* noise, RowMatrix& along) {
  const float* g = gradients.data;
  for (std::int64_t e = 0; e < elements; ++e, noise += gradients.stride) {
    for (std::int64_t s = 0; s < gradients.seeds; ++s, g += gradients.stride) {
      double* const row = &along(gradients.first_row + s, 0);
      for (std::int64_t b = 0; b < gradients.lanes; ++b) row[b] += double{g[b]} * double{noise[b]};
    }
  }
}

Eigen::MatrixXd rows_along(const RowMatrix& u, const float* x, const float* noisy, std::int64_t lanes, std::int64_t stride) {
  Eigen::MatrixXd along(u.rows(), lanes);
  const Eigen::Index whole = lanes / kGroup * kGroup;
  for (Eigen::Index j = 0; j < whole; j += kGroup) group_along(u, x, noisy + j, stride, along.middleCols(j, kGroup));
  if (whole == lanes) return along;
  std::vector<float> rest(static_cast<std::size_t>(u.cols() * kGroup), 0.0F);
  for (Eigen::Index e = 0; e < u.cols(); ++e) std::copy_n(noisy + e * stride + whole, lanes - whole, rest.data() + e * kGroup);
  group_along(u, x, rest.data(), kGroup, along.rightCols(lanes - whole));
  return along;
}

}  // namespace probust
