// SPDX-License-Identifier: MIT
// Points that share draws of the noise. With the same draw, the margins of similar points move together. So the effect of a draw
// on all points can be separated from the mean of each point: points and draws form a two-way layout, only partly observed, which
// is solved by generalised least squares (Aitken 1935). The effects have the covariance of a Gaussian process over points, as in
// stochastic kriging with common random numbers (Chen, Ankenman, Nelson, "The effects of common random numbers on stochastic
// kriging metamodels", ACM TOMACS 2012). The estimated means are unbiased for any weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/statistics/variance_components.h"
#include "probust/exec/points.h"
#include "probust/noise/noise.h"

namespace probust {

/// The draw that each point of a block uses for each of its pairs: pair k of point i uses draw draw[k][i] of stratum k. Within a
/// stratum, the numbers of points per draw differ by at most one, and points are assigned to draws at random.
struct SharedNoise {
  std::int64_t draws = 0;                         ///< number of draws per stratum
  std::vector<std::vector<std::int64_t>> draw{};  ///< [pairs][points]

  bool shared() const { return draws > 0; }
  /// Drops all but the first `pairs` pairs.
  void keep(std::int64_t pairs) { draw.resize(std::min<std::size_t>(draw.size(), pairs)); }
  /// The draws of some of the points.
  SharedNoise of(const std::vector<std::int64_t>& points) const;
};

/// Assigns draws at random; about kServed points share a draw. The result depends only on the arguments; `position` is the
/// position of the block's first point in the data.
inline constexpr std::int64_t kServed = 16;
SharedNoise share_noise(std::int64_t points, std::int64_t pairs, std::uint64_t seed, std::int64_t position);

/// Points and the draws that they share.
struct SharedPoints {
  Points points;
  SharedNoise noise{};
};

/// The points of a block, with shared draws unless the noise differs from point to point.
SharedPoints share_draws(const Points& points, const Noise& noise, std::int64_t pairs);

/// The common errors of a block's means, estimated from shared draws, and the covariance of the remaining errors.
struct CommonErrors {
  Eigen::MatrixXd correction;  ///< [n, r] to be added to the mean over a point's own pairs
  Eigen::MatrixXd covariance;  ///< [n, n] covariance of the remaining errors, in units of the mean variance of the even parts
};

/// Computes the common errors. `even` [n][r, pairs] are the even parts of the pairs, minus their mean over the point's pairs;
/// `variance` [n] is the variance of the even part of a pair at each point, averaged over the r coordinates. Without shared
/// draws, the correction is zero.
CommonErrors common_errors(const Similarities& similarities, const std::vector<Eigen::MatrixXd>& even,
                           const Eigen::VectorXd& variance, const SharedNoise& noise);

}  // namespace probust
