// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "probust/base/stop.h"

// Reductions of gradients on the processor. No sum depends on lanes other than its own.
namespace probust {

/// Gradients of one example, one per row, in double precision.
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// U Uᵀ. The sum runs in fixed blocks of elements, so its rounding does not depend on chunks. Throws Error{interrupted} once
/// `stop` is set.
Eigen::MatrixXd gram_of(const RowMatrix& u, const StopToken& stop);

/// Copies gradients [elements][seeds][examples] to rows first_row, ... of each example's matrix.
void unpack(const float* gradients, std::int64_t first_row, std::int64_t seeds, std::vector<RowMatrix>& to);

/// [rows, lanes] u_a . (copy j - x) for copies in lanes, `stride` floats from element to element.
Eigen::MatrixXd rows_along(const RowMatrix& u, const float* x, const float* noisy, std::int64_t lanes, std::int64_t stride);

}  // namespace probust
