// SPDX-License-Identifier: MIT
//
// Margins as functions of the noise scale. In a sweep, Phi^-1(p) follows from the mean and covariance of the margins, which are
// simpler functions of sigma: without noise the margins are those at x, known exactly, and their covariance is sigma² times a
// matrix that changes slowly. The means, in units of the margins' standard deviations, and the logarithms of the covariances'
// sizes are smoothed (scale_process.h); the covariances' shapes are averaged over nearby scales.
#pragma once

#include <span>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/estimator.h"

namespace probust {

/// The estimates of one point at several scales from pairs [scales], at least three each, as in probit:N but with margins
/// smoothed over the scales. Each scale is estimated separately if numbers are not finite, no margin varies, or very many rivals
/// matter. `at_x` [m] are the margins without noise.
std::vector<Estimate> estimate_margin_curve(std::span<const Pairs> pairs, std::span<const double> sigmas,
                                            const Eigen::VectorXd& at_x, std::int64_t target);

}  // namespace probust
