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
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/estimators/statistics/propagated_mean_regression.h"

namespace probust {

/// Similarities between the points `which`, from their values and logits [N, C]: constant; Gaussian in the logits with two
/// widths; cosines of the centred logits and of the values, which are centred over the points.
Similarities similarities(const Tensor& x, const Tensor& logits, const std::vector<std::int64_t>& which);

/// Empirical-Bayes model of the margins in a block of points.
class BlockModel {
 public:
  /// Fitted to the pairs of each point, at least two. `noise` gives shared draws, if any. `propagated` are the means that the
  /// sampled ones are regressed on, if any.
  BlockModel(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets, const Tensor& x, const Tensor& logits,
             const SharedNoise& noise, const Propagated& propagated = std::nullopt);

  /// Whether point i has a posterior: not if its margins are not finite or do not vary.
  bool has_posterior(std::int64_t i) const { return place_[i] >= 0; }

  /// Posterior means of the moments of the margins of a point with a posterior.
  MarginMoments moments(std::int64_t i) const;

  /// Draws from their posterior, as changes of these moments; by balanced_normals.
  struct PosteriorDraw {
    Eigen::VectorXd mean_offset;  // [m]
    double covariance_factor;     // a factor
  };
  std::vector<PosteriorDraw> posterior_draws(std::int64_t i, std::int64_t count) const;

 private:
  std::vector<std::int64_t> targets_, place_;  // position among the points with a posterior; -1: none
  std::vector<Eigen::VectorXd> means_;         // [learned][C] centred logits
  Eigen::MatrixXd back_;                       // [C, r] from r whitened coordinates to centred logits
  Eigen::VectorXd share_;                      // [r] each coordinate's variance of the even part, relative to their mean
  Smoothed log_size_, shape_;                  // [learned, 1], [learned, r (r + 1) / 2]
  Eigen::VectorXd mean_variance_;              // [learned] posterior variance of the mean, averaged over the coordinates
};

/// [d, count] columns drawn from a standard normal distribution, then balanced. Their mean is zero. If d < count, their sample
/// variance is 1 in every direction, so that of a linear function is exact; else it is d / (count - 1) in a random subspace of
/// count - 1 dimensions, and a linear function's has a smaller error than with independent draws if d is not much larger.
Eigen::MatrixXd balanced_normals(NoiseStream& random, std::int64_t d, std::int64_t count);

/// The difference of the covariance of some margins from its posterior mean, in draw `number` from the posterior.
using DrawnCovariance = std::function<Eigen::MatrixXd(std::uint32_t number)>;

/// The standard error of z = Phi^-1(p) of a point with a posterior, by its nearest rivals, from draws of its moments. `more`, if
/// given, is an additional covariance of their margins.
double std_error_of_z(const BlockModel& model, std::int64_t i, const Rivals& nearest, const DrawnCovariance& more = nullptr);

/// How much more counts of `copies` noisy samples scatter around the probabilities than counts with normal margins would, in
/// standard errors. The expected square of their difference is at most p (1 - p) / copies, because an efficient estimate is
/// uncorrelated with its difference to the share of the samples (Hausman, "Specification tests in econometrics", Econometrica
/// 1978); so good estimates have a negative excess on average. Estimates that are not finite do not count; without any, it is 0.
double excess_scatter(const std::vector<Estimate>& estimates, const std::vector<std::int64_t>& survivors, std::int64_t samples);

/// The same for points that are estimated here: estimate(i) is that of point i, if there is one.
double excess_scatter(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets, const StopToken* stop,
                      const std::function<std::optional<Estimate>(std::int64_t i)>& estimate);

/// Estimates with a larger excess are not used.
inline constexpr double kContradicted = 1;

/// Some of n points, evenly spaced, at most 64: enough to recognise margins that are far from normal.
std::vector<std::int64_t> spread_out(std::int64_t n);

/// Whether the counts of some of the points contradict normal margins with the moments of their own pairs. Cheap enough to test
/// before more is computed.
bool far_from_normal(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets, const StopToken* stop);

/// The given pairs of each point, extended to `count` pairs.
std::vector<Pairs> with_pairs_up_to(std::int64_t count, Executor& executor, const Points& points, const Noise& noise,
                                    std::vector<Pairs> pairs);

/// The share of the margins' variance that is even in the noise, averaged over the points; gradients cannot explain it.
double even_share(const std::vector<Pairs>& sampled);

/// The estimates of probit:N:shared, or of probit:N:learned without shared draws, from the pairs of each point, at least two.
std::vector<Estimate> estimates_from_block_model(Evaluation& evaluation, const SharedPoints& shared,
                                                 const std::vector<Pairs>& sampled, const Propagated& propagated);

/// The bytes that an estimator with a block model may hold for each of n points.
std::int64_t bytes_of_block_model(std::int64_t n, std::int64_t pairs, std::int64_t classes);

}  // namespace probust
