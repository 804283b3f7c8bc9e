// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "probust/estimators/binomial.h"
#include "probust/estimators/estimator.h"

namespace probust {

/// How many points an estimator may hold at once that needs `bytes` for each: a quarter of the executor's memory. Throws
/// Error{resources} where not even one fits.
std::int64_t points_at_once(const Executor& executor, std::int64_t bytes);

/// What the pairs of one point take.
std::int64_t bytes_of_pairs(std::int64_t pairs, std::int64_t classes);

/// Throws Error{resources} where `bytes` for `points` points that learn from each other are more than that: what they learn must
/// not depend on the memory.
void check_all_fit(const Executor& executor, std::int64_t points, std::int64_t bytes);

/// Whether margins keep the target: all positive, or zero against rivals of higher index. NaN does not keep it.
bool kept(const Eigen::Ref<const Eigen::VectorXd>& margins, std::int64_t target);

/// How many of the 2h copies keep the target.
std::int64_t count_kept(const Pairs& pairs, std::int64_t target);

/// Every margin's mean in units of its standard deviation: [m], NaN where it is not finite.
Eigen::VectorXd scores(const Pairs& pairs);

/// Rows by their scores, the smallest first, and before them those without a finite one.
std::vector<std::int64_t> by_threat(const Pairs& pairs);

/// The margins of some rivals. Rows, ascending, are those of the pairs that it was made from, and `target` is the target's place
/// among them.
struct Rivals {
  Pairs pairs;
  std::vector<std::int64_t> rows;
  std::int64_t target;
  double left_out = 0;  ///< the sum of the normal tails of rivals that were left out
};

Rivals some_rivals(const Pairs& pairs, std::int64_t target, std::vector<std::int64_t> rows);

Rivals all_rivals(const Pairs& pairs, std::int64_t target);

/// Those that decide, for algebra that grows with the cube of their number: all of up to 64, else the 64 of the smallest scores
/// and as many more as it takes for the normal tails of the others to add up to at most 1e-3, with those of `must`; never more
/// than kMostRivals of the smallest scores.
Rivals decisive(const Pairs& pairs, std::int64_t target, std::span<const std::int64_t> must = {});

/// Sums over pairs from which mean and covariance of the margins follow, for any subset of the pairs. The even part of a pair is
/// e = (g+ + g-)/2, the odd part o = (g+ - g-)/2.
class PairMoments {
 public:
  /// Sums over pairs begin, begin + stride, ... . Even parts are taken from the first pair's, so that constant margins have a
  /// variance of exactly zero.
  PairMoments(const Pairs& pairs, std::int64_t begin, std::int64_t stride);

  /// The sums without those of `part`.
  PairMoments without(const PairMoments& part) const;

  /// Mean of e, and cov(e) + mean o oᵀ, as margins and Gram matrix (at noise scale 1).
  Linearization normal() const;

  std::int64_t count() const { return count_; }

  /// The variance of each margin's mean, of two pairs or more: var(e) / count.
  Eigen::VectorXd mean_variance() const;

 private:
  std::int64_t count_ = 0;
  Eigen::VectorXd origin_, even_;
  Eigen::MatrixXd even_squares_, odd_squares_;
};

/// Where the covariance of a point's margins comes from: `weight` times the covariance of its pairs, plus what is `known` [m, m].
struct CovarianceModel {
  double weight = 1;
  Eigen::MatrixXd known;

  /// The mean of the pairs with that covariance.
  Linearization with(Linearization sampled) const;

  /// The same for some rows.
  CovarianceModel of(const std::vector<std::int64_t>& rows) const;
};

/// The covariance of m margins that their own pairs have.
CovarianceModel own_alone(std::int64_t m);

/// What no model may exclude, however sure it is of itself where few copies or none were lost: the 90% Clopper-Pearson interval
/// of the copies that were kept.
Interval counted_interval(std::int64_t kept, std::int64_t copies);

/// Confronts `estimate`, whose p rests on the mean of `pairs` and the covariance of `model`, with the copies that were `kept`
/// (reconcile.h): p moves towards their share as far as it is evidence against normal margins, and gets its standard error and
/// 95% interval. `share` in [0, 1] is how much of the margins' standard deviation is sampled at all.
void judge(Estimate& estimate, const Pairs& pairs, const CovarianceModel& model, std::int64_t kept, std::int64_t target,
           double share);

/// The same where the standard error of z = Phi^-1(p) is known: NaN where it is not.
void judge(Estimate& estimate, double std_error, std::int64_t kept, std::int64_t copies, double share);

/// probit:N's estimate from one point's pairs alone. Where `stop` is set meanwhile, it means nothing.
Estimate estimate_from_pairs(const Pairs& pairs, std::int64_t target, const std::atomic<bool>* stop = nullptr);

/// Says in an estimate's status what `rivals` left out, where that may matter.
void tell_left_out(Estimate& estimate, const Rivals& rivals);

/// The standard errors of what is computed from pairs, by the jackknife that leaves out a group of pairs at a time (Efron 1982):
/// without(group, groups) leaves out pairs group, group + groups, ... .
Eigen::ArrayXd jackknife(std::int64_t pairs,
                         const std::function<Eigen::ArrayXd(std::int64_t group, std::int64_t groups)>& without);

/// z = Phi^-1(p) of margins at noise scale 1, roughly: for differences between similar problems.
double rough_z(const Linearization& linearization, std::int64_t target);

/// The rivals that a standard error needs: those that threaten most.
std::vector<std::int64_t> most_threatening(const Pairs& pairs);

}  // namespace probust
