// SPDX-License-Identifier: MIT
// An empirical-Bayes model of the margins of a block of points. Similar points have similar covariances, so the covariances'
// sizes and shapes are smoothed over the block (variance_components.h). If the points share draws of the noise, the common effect
// of each draw is subtracted from the points' means (shared_noise.h).
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

/// Similarities between the points `which`, from their values and logits [N, C]: a constant; two Gaussian functions of the
/// distances of the logits; and the cosines of the logits, centred over the classes, and of the values, centred over the
/// points.
Similarities similarities(const Tensor& x, const Tensor& logits, const std::vector<std::int64_t>& which);

/// Empirical-Bayes model of the margins in a block of points.
class BlockModel {
 public:
  /// Fits the model to the pairs of each point, at least two. `noise` holds the shared draws, if any. `propagated` holds the
  /// means on which the sampled means are regressed, if any.
  BlockModel(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets, const Tensor& x, const Tensor& logits,
             const SharedNoise& noise, const Propagated& propagated = std::nullopt);

  /// Whether point i has a posterior. A point has none if its margins do not vary or are not finite.
  bool has_posterior(std::int64_t i) const { return place_[i] >= 0; }

  /// The posterior means of the moments of the margins of point i, which must have a posterior.
  MarginMoments moments(std::int64_t i) const;

  /// A draw from the posterior, relative to the posterior means.
  struct PosteriorDraw {
    Eigen::VectorXd mean_offset;  // [m] to be added to the mean
    double covariance_factor;     // by which the covariance is multiplied
  };
  std::vector<PosteriorDraw> posterior_draws(std::int64_t i, std::int64_t count) const;

 private:
  std::vector<std::int64_t> targets_, place_;  // targets, and the index of each point among those with a posterior (-1: none)
  std::vector<Eigen::VectorXd> means_;         // [points with a posterior][C] centred logits
  Eigen::MatrixXd back_;                       // [C, r] from r whitened coordinates to centred logits
  Eigen::VectorXd share_;          // [r] variance of the even part in each coordinate, relative to the mean over coordinates
  Smoothed log_size_, shape_;      // [points with a posterior, 1 and r (r + 1) / 2]
  Eigen::VectorXd mean_variance_;  // [points with a posterior] posterior variance of the mean, averaged over the coordinates
};

/// Balanced standard normal draws in the columns of [d, count]. Their mean is exactly zero. If d < count, their sample variance
/// is exactly 1 in every direction, and so is exact for linear functions. Otherwise it is d / (count - 1) in a random subspace
/// of count - 1 dimensions; for linear functions its error is smaller than with independent draws unless d is much larger.
Eigen::MatrixXd balanced_normals(NoiseStream& random, std::int64_t d, std::int64_t count);

/// The covariance of some margins in draw `number` from the posterior, minus its posterior mean.
using DrawnCovariance = std::function<Eigen::MatrixXd(std::uint32_t number)>;

/// The standard error of z = Phi^-1(p) for a point with a posterior and its nearest rivals, from posterior draws of the moments.
/// If given, `more` is added to the covariance of the rivals' margins.
double std_error_of_z(const BlockModel& model, std::int64_t i, const Rivals& nearest, const DrawnCovariance& more = nullptr);

/// By how many standard errors the scatter of the survivor counts (out of `samples` noisy samples) around the estimated
/// probabilities exceeds what normal margins imply. The expected square of a difference is at most p (1 - p) / samples, because
/// an efficient estimate is uncorrelated with its difference from the share of survivors (Hausman, "Specification tests in
/// econometrics", Econometrica 1978). So the excess of good estimates is negative on average. Estimates that are not finite are
/// skipped; without any, the excess is 0.
double excess_scatter(const std::vector<Estimate>& estimates, const std::vector<std::int64_t>& survivors, std::int64_t samples);

/// excess_scatter for points whose estimates have yet to be computed: estimate(i) returns the estimate of point i, or nothing to
/// skip it.
double excess_scatter(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets, const StopToken* stop,
                      const std::function<std::optional<Estimate>(std::int64_t i)>& estimate);

/// Estimates with a larger excess are rejected.
inline constexpr double kContradicted = 1;

/// At most 64 of n points, evenly spaced: enough to recognise margins that are far from normal.
std::vector<std::int64_t> spread_out(std::int64_t n);

/// Whether the numbers of survivors at some of the points contradict normal margins whose moments come from the points' own
/// pairs. This cheap test runs before the block model is computed.
bool far_from_normal(const std::vector<Pairs>& sampled, const std::vector<std::int64_t>& targets, const StopToken* stop);

/// The given pairs of each point, followed by new ones, up to `count` pairs in all.
std::vector<Pairs> with_pairs_up_to(std::int64_t count, Executor& executor, const Points& points, const Noise& noise,
                                    std::vector<Pairs> pairs);

/// The share of the margins' variance that is even in the noise, averaged over the points. Gradients cannot explain this part.
double even_share(const std::vector<Pairs>& sampled);

/// The estimates of probit:N:shared or, if the points do not share draws, of probit:N:learned. Each point needs at least two
/// pairs.
std::vector<Estimate> estimates_from_block_model(Evaluation& evaluation, const SharedPoints& shared,
                                                 const std::vector<Pairs>& sampled, const Propagated& propagated);

/// The maximum number of bytes per point that an estimator with a block model needs, for n points.
std::int64_t bytes_of_block_model(std::int64_t n, std::int64_t pairs, std::int64_t classes);

}  // namespace probust
