// SPDX-License-Identifier: MIT
// What the posterior of the margins' processes (margin_process.h) says about the survival of one point's target.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/estimators/estimate.h"
#include "probust/estimators/statistics/margin_process.h"

namespace probust {

/// Margins of one point at its N nodes: those over the most threatening rivals and, if there are more rivals, the smallest over
/// the rest. The target survives if all are positive.
struct PointMargins {
  static constexpr std::int64_t kMost = 16;  ///< the largest number of margins
  Eigen::MatrixXd values;                    ///< [N, margins]
  bool finite = true;                        ///< whether no margin is infinite or NaN
};

/// The margins of a target at nodes with these logits [N, classes].
PointMargins margins_at(std::span<const float> logits, std::int64_t classes, std::int64_t target);

/// Standard normals [rows][columns] that depend only on the seed.
std::vector<float> seeded_normals(std::uint64_t seed, std::int64_t rows, std::int64_t columns);

/// The places w over which p is averaged, and standard normals for draws of the posterior there.
struct AveragedPlaces {
  static constexpr std::int64_t kCount = 2048;                   ///< number of places
  static constexpr std::int64_t kPathPlaces = 128, kPaths = 32;  ///< joint draws at the first places, for the error of p
  Eigen::MatrixXd at;                                            ///< [kCount, k]
  std::vector<float> z;                                          ///< [rivals][kCount + kPaths * kPathPlaces]
};

/// The places for k parameters and this number of rivals.
AveragedPlaces averaged_places(std::int64_t parameters, std::int64_t rivals, std::uint64_t seed);

/// Draws of the posterior around its mean, for processes that are independent of each other and have s = 1.
struct PosteriorDraws {
  std::vector<float> places;  ///< [rivals][kCount]
  std::vector<float> paths;   ///< [kPaths][rivals][kPathPlaces]
};
PosteriorDraws posterior_draws(const ProcessPosterior& posterior, const AveragedPlaces& places, std::int64_t rivals);

/// p as the mean, over the places, of the survival at one draw of the posterior, and its interval (surrogate_process.cpp). The
/// posterior must be for these places, and the margins for its nodes.
Estimate estimate_of(const ProcessPosterior& posterior, const PosteriorDraws& draws, const PointMargins& margins);

/// Places from a distribution that is kWider times as wide as that of w, for rare failures.
struct WidePlaces {
  static constexpr std::int64_t kCount = 8192;
  Eigen::MatrixXd at;      ///< [kCount, k]
  Eigen::ArrayXd weights;  ///< [kCount] the ratio of the densities
  std::vector<float> z;    ///< [rivals][kCount] standard normals
};
WidePlaces wide_places(std::int64_t parameters, std::int64_t rivals, std::uint64_t seed);

/// p_fail as a weighted mean over wide places, and the interval in which all margins may be wrong by kDeviationsOfRare of their
/// posterior standard deviations at once.
Estimate estimate_of_rare(const ProcessPosterior& posterior, const WidePlaces& wide, const PointMargins& margins);

/// The estimate for margins that are infinite or NaN at some node: the share of nodes at which the target survives.
Estimate counted_at(const PointMargins& margins);

/// The posterior probability of failure, averaged over the first places of the posterior as if margins were independent of each
/// other.
double rough_failure(const ProcessPosterior& posterior, const PointMargins& margins);

/// The next nodes of a point, among the first places: those where the sign of the smallest margin is least certain, and not
/// close to each other. With `weights`, uncertainty counts in proportion to their square roots; `explore` favours places far
/// from all nodes.
std::vector<Eigen::Index> uncertain_places(const ProcessPosterior& posterior, const Eigen::MatrixXd& places,
                                           const Eigen::ArrayXd* weights, const PointMargins& margins, std::int64_t wanted,
                                           bool explore);

/// The sums of the squared errors of predicting whether the target survives at a node from the other nodes, and of the same with
/// the share of survivors as the prediction.
struct LeaveOneOut {
  double errors = 0, variance = 0;

  /// Adds the nodes of one point; `precision` is ProcessPosterior::precision() of the nodes.
  void add(const PointMargins& margins, const Eigen::MatrixXd& precision);

  /// Near 1, the processes explain none of the failures.
  double score() const { return variance > 0 ? errors / variance : 0; }
};

}  // namespace probust
