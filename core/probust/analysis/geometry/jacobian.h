// SPDX-License-Identifier: MIT
#pragma once

#include "probust/base/linear_algebra.h"
#include "probust/exec/executor.h"

// Gradients at one point, for analyses that move from point to point.
namespace probust {

/// [C, d] gradients of the logits.
using LogitJacobian = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The gradients at the only point of x [1, ...]. Throws Error.
LogitJacobian jacobian_at(Executor& executor, const Tensor& x);

/// The gradient [d] of the margin f_t - f_i of the target t over a rival i.
Eigen::VectorXd margin_gradient(const LogitJacobian& J, std::int64_t target, std::int64_t rival);

/// [C, d] gradients of the logits of point i: at the point or, if `samples` is positive, averaged over the noisy samples of
/// Executor::linearize_averaged (SmoothGrad: Smilkov et al. 2017, arXiv:1706.03825). Throws Error.
LogitJacobian averaged_jacobian(Executor& executor, const Points& points, std::int64_t i, const Noise& noise,
                                std::int64_t samples);

/// [m, d] gradients of the margins of point i over its rivals, in order, from averaged_jacobian. Throws Error.
LogitJacobian margin_gradients(Executor& executor, const Points& points, std::int64_t i, const Noise& noise,
                               std::int64_t samples);

}  // namespace probust
