// SPDX-License-Identifier: MIT
//
// Margins as functions of the noise's scale. Phi^-1(p) of a sweep follows from the mean and the covariance of the margins, which
// are simpler functions of sigma than it is: without noise the margins are those at x, known exactly, and their covariance is
// sigma² times a matrix that changes slowly. Means are smoothed in units of the margins' standard deviations (scale_process.h),
// so are the logarithms of the sizes of covariances, and their shapes are averaged over near scales.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "probust/estimators/estimator.h"

namespace probust {

/// One point's estimates at several scales, as probit:N makes them of the pairs [scales], three or more at each, but from margins
/// smoothed over the scales; where numbers are not finite, nothing moves a margin, or very many rivals decide, from each scale's
/// own. `at_x` [m] are the margins without noise.
std::vector<Estimate> estimate_margin_curve(std::span<const Pairs> pairs, std::span<const double> sigmas,
                                            const Eigen::VectorXd& at_x, std::int64_t target);

}  // namespace probust
