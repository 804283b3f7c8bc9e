// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/base/stop.h"

// Reductions of gradients on the CPU. Each sum depends only on its own lane.
namespace probust {

/// Gradients of one example, one per row, in double precision.
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// U Uᵀ. Sums run over fixed blocks of elements, so that rounding does not depend on chunks. Throws Error{interrupted} if `stop`
/// is set.
Eigen::MatrixXd gram_of(const RowMatrix& u, const StopToken& stop);

/// Copies gradients [elements][seeds][examples] to rows first_row, ... of each example's matrix.
void unpack(const float* gradients, std::int64_t first_row, std::int64_t seeds, std::vector<RowMatrix>& to);

/// The inverse of unpack: copies rows first_row, ... to gradients, rounding them.
void pack(const std::vector<RowMatrix>& from, std::int64_t first_row, std::int64_t seeds, float* gradients);

/// Gradients at `lanes` samples of a point, for rows first_row .. first_row + seeds - 1. The gradient of element e, seed s and
/// lane b is data[(e * seeds + s) * stride + b].
struct GradientRows {
  const float* data;
  std::int64_t first_row, seeds, stride, lanes;
};

/// Adds the gradients of each lane to sums(row, e), one lane after another, so that the sums do not depend on how many samples
/// run together.
void add_rows(const GradientRows& gradients, RowMatrix& sums);

/// along(row, b) += sum over e of gradient(e, row, b) noise[e * stride + b], in the order of the elements.
void add_products(const GradientRows& gradients, std::int64_t elements, const float* noise, RowMatrix& along);

/// [rows, lanes] u_a . (sample j - x) for samples in lanes, `stride` floats from element to element.
Eigen::MatrixXd rows_along(const RowMatrix& u, const float* x, const float* noisy, std::int64_t lanes, std::int64_t stride);

}  // namespace probust
