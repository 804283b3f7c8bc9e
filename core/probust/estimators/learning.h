// SPDX-License-Identifier: MIT
// Margins of a block of points that learn from each other. Similar points have similar covariances: their size and their shape
// are smoothed over the block (variance_components.h). If the points share draws of the noise, their means are freed from what
// the draws have in common (shared_noise.h).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "probust/estimators/pair_statistics.h"
#include "probust/estimators/shared_noise.h"

namespace probust {

/// Similarities between points, from their values and logits [N, C], for the points `which`: constant; Gaussian in the logits
/// with two widths; cosines of the centred logits and of the values, which are centred over the points.
Similarities similarities(const Tensor& x, const Tensor& logits, const std::vector<std::int64_t>& which);

/// The normal margins of a block's points.
class LearnedMargins {
 public:
  /// From the pairs of each point, at least two. `noise` says who shares draws, if anybody.
  LearnedMargins(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets, const Tensor& x,
                 const Tensor& logits, const SharedNoise& noise);

  /// Whether anything was learned for point i. Not if its margins are not finite or do not vary.
  bool learned(std::int64_t i) const { return place_[i] >= 0; }

  /// Posterior means of the moments of the margins of a learned point.
  MarginMoments moments(std::int64_t i) const;

  /// A draw from their posterior around `centre`, the moments of point i; the same for equal `number`.
  MarginMoments draw(std::int64_t i, MarginMoments centre, std::uint32_t number) const;

 private:
  std::vector<std::int64_t> targets_, place_;  // of all points; -1: not learned
  std::vector<Eigen::VectorXd> means_;         // [learned][C] centred logits
  Eigen::MatrixXd back_;                       // [C, r] from r whitened coordinates to centred logits
  Eigen::VectorXd share_;                      // [r] each coordinate's variance of the even part, relative to their mean
  Smoothed log_size_, shape_;                  // [learned, 1], [learned, r (r + 1) / 2]
  Eigen::VectorXd mean_variance_;              // [learned] of the mean, averaged over the coordinates
};

}  // namespace probust
