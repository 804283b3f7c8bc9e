// SPDX-License-Identifier: MIT
// To compare points with different targets, margins g_i are converted to logits f_i = -g_i, f_t = 0, from which the mean over the
// classes is subtracted.
#pragma once

#include <cstdint>

#include "probust/base/linear_algebra.h"

namespace probust {

/// [C, C - 1] The matrix A that converts margins g to centred logits A g.
Eigen::MatrixXd logits_of_margins(std::int64_t rivals, std::int64_t target);

/// The covariance [C, C] of the centred logits, given the covariance of the margins [C - 1, C - 1].
Eigen::MatrixXd covariance_of_logits(const Eigen::MatrixXd& margins, std::int64_t target);

/// The inverse of covariance_of_logits: the covariance of the margins f_t - f_i.
Eigen::MatrixXd covariance_of_margins(const Eigen::MatrixXd& logits, std::int64_t target);

/// [C - 1] The margins f_t - f_i.
Eigen::VectorXd margins_of_logits(const Eigen::VectorXd& logits, std::int64_t target);

}  // namespace probust
