// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/estimator.h"
#include "probust/estimators/linearization.h"
#include "probust/estimators/statistics/binomial.h"

namespace probust {

/// How many points, of `bytes` each, fit into a quarter of the executor's memory at once. Throws Error{resources} if not even one
/// does.
std::int64_t points_at_once(const Executor& executor, std::int64_t bytes);

/// Bytes for the pairs of one point.
std::int64_t bytes_of_pairs(std::int64_t pairs, std::int64_t classes);

/// Throws Error{resources} if `points` pooled points of `bytes` each exceed a quarter of the executor's memory. They cannot be
/// split, because pooled values must not depend on the memory.
void check_all_fit(const Executor& executor, std::int64_t points, std::int64_t bytes);

/// Whether the target survives: all margins are positive, or zero for rivals of higher index. False if a margin is NaN.
bool keeps_target(const Eigen::Ref<const Eigen::VectorXd>& margins, std::int64_t target);

/// The number of samples, out of 2 per pair, that keep the target.
std::int64_t count_survivors(const Pairs& pairs, std::int64_t target);

/// [m] The mean of every margin divided by its standard deviation. Infinite for a constant margin; NaN for a margin that is NaN
/// or always zero.
Eigen::VectorXd scores(const Pairs& pairs);

/// The rows of the margins in ascending order of score. NaN counts as -infinity.
std::vector<std::int64_t> rows_by_score(const Pairs& pairs);

/// The margins of some rivals. `rows` are their rows in the original pairs, ascending; `target` is the position of the target
/// among these rivals.
struct Rivals {
  Pairs pairs;
  std::vector<std::int64_t> rows;
  std::int64_t target;
  double left_out = 0;  ///< the sum of the normal tails of the dropped rivals
};

Rivals some_rivals(const Pairs& pairs, std::int64_t target, std::vector<std::int64_t> rows);

Rivals all_rivals(const Pairs& pairs, std::int64_t target);

/// Selects the rivals that matter, because the cost of the algebra is cubic in their number. Up to 64 rivals are all selected. Of
/// more rivals, selects the 64 with the smallest scores, then further ones until the normal tails of the rest add up to at most
/// 1e-3 (but no more than kMostRivals), and those in `must`.
Rivals nearest_rivals(const Pairs& pairs, std::int64_t target, std::span<const std::int64_t> must = {});

/// Sums over pairs from which the mean and covariance of the margins follow, for any subset of the pairs. The even part of a
/// pair is e = (g+ + g-)/2, the odd part is o = (g+ - g-)/2.
class PairMoments {
 public:
  /// Sums over the pairs begin, begin + stride, ... . Even parts are taken relative to that of the first pair, so that constant
  /// margins have a variance of exactly zero.
  PairMoments(const Pairs& pairs, std::int64_t begin, std::int64_t stride);

  /// The sums over all pairs except those of `part`.
  PairMoments without(const PairMoments& part) const;

  /// The mean of e, and the covariance cov(e) + mean(o oᵀ).
  MarginMoments moments() const;

  std::int64_t count() const { return count_; }

  /// The variance of each margin's mean, var(e) / count. Needs at least two pairs.
  Eigen::VectorXd mean_variance() const;

 private:
  std::int64_t count_ = 0;
  Eigen::VectorXd origin_, even_;
  Eigen::MatrixXd even_squares_, odd_squares_;
};

/// A model of the covariance of a point's margins: `weight` times the covariance of its pairs, plus `known` [m, m].
struct CovarianceModel {
  double weight = 1;
  Eigen::MatrixXd known;

  /// The moments of the pairs, with the covariance of the model.
  MarginMoments with(MarginMoments sampled) const;

  /// The model restricted to the margins `rows`.
  CovarianceModel of(const std::vector<std::int64_t>& rows) const;
};

/// The model for m margins that uses only the covariance of the point's own pairs.
CovarianceModel own_alone(std::int64_t m);

/// Reported intervals always include a Clopper-Pearson interval of the survivors, so that they are not too narrow if few or no
/// samples fail. Its level is 90%, or lower (70%) if the survivor counts of all points together agree with the model.
inline constexpr double kCounted = 0.9, kCountedIfAgreed = 0.7;
Interval counted_interval(std::int64_t survivors, std::int64_t samples);

/// Combines `estimate`, whose p comes from the mean of `pairs` and the covariance of `model`, with the number of survivors
/// (reconcile.h). p moves towards the share of survivors, by more if the evidence against normal margins is stronger. Sets the
/// standard error and the 95% interval. `share` in [0, 1] is the part of the margins' standard deviation that is sampled; it
/// scales the model error.
void attach_interval(Estimate& estimate, const Pairs& pairs, const CovarianceModel& model, std::int64_t survivors,
                     std::int64_t target, double share);

/// attach_interval with a given standard error of z = Phi^-1(p) (NaN if unknown), and a given level for the
/// Clopper-Pearson interval of the survivors.
void attach_interval(Estimate& estimate, double std_error, std::int64_t survivors, std::int64_t samples, double share,
                     double counted_level = kCounted);

/// The estimate of probit:N from one point's pairs. Meaningless if `stop` is set during the call.
Estimate estimate_from_pairs(const Pairs& pairs, std::int64_t target, const std::atomic<bool>* stop = nullptr);

/// The margins with class `other` as the target, from the same samples.
Pairs retargeted(const Pairs& pairs, std::int64_t target, std::int64_t other);

/// If the label is not the target, adds the probability of the label to the estimate of point i, computed from the point's pairs
/// as in probit:N.
void attach_label(Estimate& estimate, const Pairs& pairs, const Points& points, std::int64_t i, const std::atomic<bool>* stop);

/// The estimates of probit:N:pooled from the pairs of an evaluation's points.
std::vector<Estimate> estimates_from_pooled(const Evaluation& evaluation, const std::vector<Pairs>& sampled);

/// Sets the status `inexact` if the dropped rivals may add a relevant amount to p_fail.
void mark_left_out(Estimate& estimate, const Rivals& rivals);

/// Standard errors of values computed from pairs, by the delete-a-group jackknife (Efron 1982). without(group, groups) returns
/// the values without pairs group, group + groups, ... .
Eigen::ArrayXd jackknife(std::int64_t pairs,
                         const std::function<Eigen::ArrayXd(std::int64_t group, std::int64_t groups)>& without);

/// An approximation of z = Phi^-1(p) that is good enough for differences between similar problems.
double rough_z(const MarginMoments& moments, std::int64_t target);

/// The rows of the nearest rivals: as many as a standard error needs.
std::vector<std::int64_t> nearest_rows(const Pairs& pairs);

}  // namespace probust
