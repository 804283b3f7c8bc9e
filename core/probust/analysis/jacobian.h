// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>

#include "probust/exec/executor.h"

// Gradients at one point, for the analyses that walk from point to point.
namespace probust {

/// [C, d] of the logits.
using LogitJacobian = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// At the one point of x [1, ...]. Throws Error.
LogitJacobian jacobian_at(Executor& executor, const Tensor& x);

/// The gradient [d] of the margin f_t - f_i of the target t over a rival i.
Eigen::VectorXd margin_gradient(const LogitJacobian& J, std::int64_t target, std::int64_t rival);

}  // namespace probust
