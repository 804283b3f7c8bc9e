// SPDX-License-Identifier: MIT
// Points that share draws of the noise. At the same draw, the margins of similar points move together. So what a draw does to
// all points can be separated from what each point does on average: a two-way layout of points and draws, of which only a part
// is observed, solved by generalised least squares (Aitken 1935). Its noise has the covariance of a Gaussian process over points,
// as in stochastic kriging with common random numbers (Chen, Ankenman, Nelson, "The effects of common random numbers on
// stochastic kriging metamodels", ACM TOMACS 2012). The estimated means are unbiased, whatever the weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/statistics/variance_components.h"
#include "probust/exec/points.h"
#include "probust/noise/noise.h"

namespace probust {

/// Which draw each point of a block uses for each of its pairs: pair k of point i is draw draw[k][i] of stratum k. Every draw of
/// a stratum serves the same number of points, up to one; the points of a draw are chosen at random for each stratum.
struct SharedNoise {
  std::int64_t draws = 0;                         ///< per stratum
  std::vector<std::vector<std::int64_t>> draw{};  ///< [pairs][points]

  bool shared() const { return draws > 0; }
  /// Drops all but the first pairs.
  void keep(std::int64_t pairs) { draw.resize(std::min<std::size_t>(draw.size(), pairs)); }
  /// The same for some of the points.
  SharedNoise of(const std::vector<std::int64_t>& points) const;
};

/// About kServed points share a draw. Depends only on the arguments; `position` is that of the block's first point in the data.
inline constexpr std::int64_t kServed = 16;
SharedNoise share_noise(std::int64_t points, std::int64_t pairs, std::uint64_t seed, std::int64_t position);

/// Points, and which draws they share.
struct SharedPoints {
  Points points;
  SharedNoise noise{};
};

/// The points of a block, with shared draws unless the noise differs from point to point.
SharedPoints share_draws(const Points& points, const Noise& noise, std::int64_t pairs);

/// The errors of a block's means that shared draws reveal, and the remaining ones.
struct CommonErrors {
  Eigen::MatrixXd correction;  ///< [n, r] to be added to the mean over a point's own pairs
  Eigen::MatrixXd covariance;  ///< [n, n] covariance of the remaining errors, in units of the even parts' mean variance
};

/// `even` [n][r, pairs] are the even parts of the pairs, minus their mean over the point's pairs; `variance` [n] is a pair's
/// variance of the even part at each point, averaged over the r coordinates. Without shared draws, nothing is corrected.
CommonErrors common_errors(const Similarities& similarities, const std::vector<Eigen::MatrixXd>& even,
                           const Eigen::VectorXd& variance, const SharedNoise& noise);

}  // namespace probust
