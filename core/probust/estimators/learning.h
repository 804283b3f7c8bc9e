// SPDX-License-Identifier: MIT
// Margins of a block of points that learn from each other. Similar points have similar covariances: their size and their shape
// are smoothed over the block (variance_components.h). If the points share draws of the noise, their means are freed from what
// the draws have in common (shared_noise.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/shared_noise.h"
#include "probust/estimators/statistics/mean_shifts.h"
#include "probust/estimators/statistics/pair_statistics.h"

namespace probust {

/// Similarities between points, from their values and logits [N, C], for the points `which`: constant; Gaussian in the logits
/// with two widths; cosines of the centred logits and of the values, which are centred over the points.
Similarities similarities(const Tensor& x, const Tensor& logits, const std::vector<std::int64_t>& which);

/// The normal margins of a block's points.
class LearnedMargins {
 public:
  /// From the pairs of each point, at least two. `noise` says who shares draws, if anybody. `propagated` are the means that the
  /// sampled ones are regressed on, if there are any.
  LearnedMargins(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets, const Tensor& x,
                 const Tensor& logits, const SharedNoise& noise, const Propagated& propagated = std::nullopt);

  /// Whether anything was learned for point i. Not if its margins are not finite or do not vary.
  bool learned(std::int64_t i) const { return place_[i] >= 0; }

  /// Posterior means of the moments of the margins of a learned point.
  MarginMoments moments(std::int64_t i) const;

  /// Draws from their posterior, as changes of these moments; by balanced_normals.
  struct Change {
    Eigen::VectorXd of_mean;  // [m]
    double of_covariance;     // a factor
  };
  std::vector<Change> changes(std::int64_t i, std::int64_t count) const;

 private:
  std::vector<std::int64_t> targets_, place_;  // of all points; -1: not learned
  std::vector<Eigen::VectorXd> means_;         // [learned][C] centred logits
  Eigen::MatrixXd back_;                       // [C, r] from r whitened coordinates to centred logits
  Eigen::VectorXd share_;                      // [r] each coordinate's variance of the even part, relative to their mean
  Smoothed log_size_, shape_;                  // [learned, 1], [learned, r (r + 1) / 2]
  Eigen::VectorXd mean_variance_;              // [learned] of the mean, averaged over the coordinates
};

/// [d, count] columns drawn from a standard normal distribution, then balanced. Their mean is zero. If d < count, their sample
/// variance is 1 in every direction, so that of a linear function is exact; else it is d / (count - 1) in a random subspace of
/// count - 1 dimensions, and a linear function's has a smaller error than with independent draws if d is not much larger.
Eigen::MatrixXd balanced_normals(NoiseStream& random, std::int64_t d, std::int64_t count);

/// The part of the covariance of some margins that was not learned, in draw `number` from the posterior.
using DrawnCovariance = std::function<Eigen::MatrixXd(std::uint32_t number)>;

/// The standard error of z = Phi^-1(p) of learned point i, by its nearest rivals, from draws of its moments. `more`, if given, is
/// the covariance of their margins that is added.
double std_error_of_z(const LearnedMargins& learned, std::int64_t i, const Rivals& nearest,
                      const DrawnCovariance& more = nullptr);

/// By how much counts of `copies` copies scatter more about the probabilities than counts of copies with normal margins do, in
/// standard errors. The expected square of their difference is at most p (1 - p) / copies, because an efficient estimate is
/// uncorrelated with its difference to the share of the copies (Hausman, "Specification tests in econometrics", Econometrica
/// 1978); so good estimates have a negative excess on average. Estimates that are not finite do not count; without any, it is 0.
double excess_scatter(const std::vector<Estimate>& estimates, const std::vector<std::int64_t>& kept, std::int64_t copies);

/// The same for points that are estimated here: estimate(i) is that of point i, if there is one.
double excess_scatter(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets, const StopToken* stop,
                      const std::function<std::optional<Estimate>(std::int64_t i)>& estimate);

/// Estimates with a larger excess are not used.
inline constexpr double kContradicted = 1;

/// Some of n points, at even distances, at most 64: enough to recognise margins that are far from normal.
std::vector<std::int64_t> spread_out(std::int64_t n);

/// Whether the counts of some of the points contradict normal margins with the moments of their own pairs. Cheap enough to ask
/// before more is computed.
bool far_from_normal(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets, const StopToken* stop);

/// The pairs of each point, and those that follow up to `count`.
std::vector<Pairs> with_pairs_up_to(std::int64_t count, Executor& executor, const Points& points, const Noise& noise,
                                    std::vector<Pairs> pairs);

/// The share of the margins' variance that is even in the noise, averaged over the points: no gradient explains it.
double even_share(const std::vector<Pairs>& sampled);

/// The estimates of probit:N:shared, or of probit:N:learned if no draws are shared, from the pairs of each point, at least two.
std::vector<Estimate> estimates_from_learned(Evaluation& evaluation, const SharedPoints& shared,
                                             const std::vector<Pairs>& sampled, const Propagated& propagated);

/// What an estimator that learns may hold of each of n points, in bytes.
std::int64_t bytes_to_learn(std::int64_t n, std::int64_t pairs, std::int64_t classes);

}  // namespace probust
