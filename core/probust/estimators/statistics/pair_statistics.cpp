// SPDX-License-Identifier: MIT
#include "probust/estimators/statistics/pair_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "probust/estimators/common.h"
#include "probust/estimators/reconcile.h"
#include "probust/normal/closed_form.h"
#include "probust/normal/multivariate.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

constexpr std::int64_t kGroups = 25;          // groups of the jackknife
constexpr std::int64_t kFewestRivals = 64;    // up to this many rivals, all are used
constexpr std::int64_t kJackknifed = 24;      // number of rivals in a standard error
constexpr double kLeftOut = 1e-3;             // bound on the failure probability that all dropped rivals together may add
constexpr double kModelError = 0.02;          // error of Phi^-1(p) at p = 1/2, because margins of networks are not exactly normal
constexpr double kModelErrorInTails = 0.015;  // additional error per standard deviation away from p = 1/2
constexpr double kDoubt = 5;  // intervals enlarge the model error by this factor, and add the model's sampling error to it

Evidence doubting(Evidence evidence) {
  evidence.model_error *= kDoubt;
  evidence.efficiency = 0;
  return evidence;
}

}  // namespace

double rough_z(const MarginMoments& moments, std::int64_t target) {
  const NormalProblem problem = normal_problem(moments, target);
  if (problem.always_fails || problem.z.empty()) return problem.always_fails ? -INFINITY : INFINITY;
  Estimate estimate;
  const normal::SecondOrder closed = normal::second_order(problem.z, problem.R);
  estimate.p = closed.p;
  estimate.p_fail = closed.p_fail;
  if (!closed.trusted) {
    const normal::Probability probability =
        normal::mvn_cdf(problem.z, problem.R, {.abs = 2e-3, .rel_q = 0.1, .max_points = 4000});
    estimate.p = probability.p;
    estimate.p_fail = probability.p_fail;
  }
  return z_of(estimate);
}

Eigen::ArrayXd jackknife(std::int64_t pairs, const std::function<Eigen::ArrayXd(std::int64_t, std::int64_t)>& without) {
  const std::int64_t groups = std::min(kGroups, pairs);
  std::vector<Eigen::ArrayXd> values;
  values.reserve(static_cast<std::size_t>(groups));
  for (std::int64_t group = 0; group < groups; ++group) values.push_back(without(group, groups));
  Eigen::ArrayXd mean = Eigen::ArrayXd::Zero(values[0].size()), squares = mean;
  for (const Eigen::ArrayXd& value : values) mean += value / static_cast<double>(groups);
  for (const Eigen::ArrayXd& value : values) squares += (value - mean).square();
  return (squares * (static_cast<double>(groups - 1) / static_cast<double>(groups))).sqrt();
}

std::vector<std::int64_t> nearest_rows(const Pairs& pairs) {
  std::vector<std::int64_t> order = rows_by_score(pairs);
  order.resize(std::min<std::size_t>(order.size(), kJackknifed));
  return order;
}

namespace {

double std_error_of_z(const Pairs& every, const CovarianceModel& model_of_every, std::int64_t target_of_every) {
  const Rivals rivals = some_rivals(every, target_of_every, nearest_rows(every));
  const CovarianceModel model = model_of_every.of(rivals.rows);
  const PairMoments all(rivals.pairs, 0, 1);
  const auto without = [&](std::int64_t group, std::int64_t groups) {
    const PairMoments rest = all.without(PairMoments(rivals.pairs, group, groups));
    return Eigen::ArrayXd::Constant(1, rough_z(model.with(rest.moments()), rivals.target)).eval();
  };
  return jackknife(rivals.pairs.size(), without)[0];
}

std::int64_t budget_of(const Executor& executor, std::int64_t bytes, const std::string& whose) {
  const std::int64_t budget = executor.options().memory / 4;
  if (bytes > budget) {
    throw Error{ErrorCode::resources, option("memory"),
                "is too small: the samples of " + whose + " take " + std::to_string(bytes >> 10) + "K",
                "give at least " + std::to_string((bytes >> 8) + 1) + "K, or use fewer samples"};
  }
  return budget;
}

}  // namespace

std::int64_t points_at_once(const Executor& executor, std::int64_t bytes) {
  return budget_of(executor, bytes, "one point") / std::max<std::int64_t>(1, bytes);
}

std::int64_t bytes_of_pairs(std::int64_t pairs, std::int64_t classes) { return 32 * pairs * classes; }

void check_all_fit(const Executor& executor, std::int64_t points, std::int64_t bytes) {
  (void)budget_of(executor, points * bytes, std::to_string(points) + " points of a block");
}

bool keeps_target(const Eigen::Ref<const Eigen::VectorXd>& margins, std::int64_t target) {
  for (Eigen::Index i = 0; i < margins.size(); ++i) {
    const bool wins = i < target ? margins[i] > 0 : margins[i] >= 0;  // the lower index wins a tie
    if (!wins) return false;
  }
  return true;
}

std::int64_t count_survivors(const Pairs& pairs, std::int64_t target) {
  std::int64_t count = 0;
  for (std::int64_t j = 0; j < pairs.size(); ++j)
    count += (keeps_target(pairs.plus.col(j), target) ? 1 : 0) + (keeps_target(pairs.minus.col(j), target) ? 1 : 0);
  return count;
}

Eigen::VectorXd scores(const Pairs& pairs) {
  const auto h = static_cast<double>(pairs.size());
  const Eigen::MatrixXd even = (pairs.plus + pairs.minus) / 2, odd = (pairs.plus - pairs.minus) / 2;
  const Eigen::VectorXd mean = even.rowwise().mean();
  const Eigen::VectorXd variance =
      odd.rowwise().squaredNorm() / h + (even.colwise() - mean).rowwise().squaredNorm() / std::max(1.0, h - 1);
  return mean.array() / variance.array().sqrt();
}

namespace {

std::vector<std::int64_t> every_rival(const Pairs& pairs) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(pairs.rivals()));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::vector<std::int64_t> ascending(const Pairs& pairs, const Eigen::VectorXd& z) {
  std::vector<std::int64_t> order = every_rival(pairs);
  const auto key = [&](std::int64_t row) { return std::isnan(z[row]) ? -INFINITY : z[row]; };
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  return order;
}

}  // namespace

std::vector<std::int64_t> rows_by_score(const Pairs& pairs) { return ascending(pairs, scores(pairs)); }

Rivals some_rivals(const Pairs& pairs, std::int64_t target, std::vector<std::int64_t> rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const auto before = std::lower_bound(rows.begin(), rows.end(), target) - rows.begin();
  return {{pairs.plus(rows, Eigen::all), pairs.minus(rows, Eigen::all)}, std::move(rows), before};
}

void mark_left_out(Estimate& estimate, const Rivals& rivals) {
  if (rivals.left_out <= kLeftOut || std::isnan(estimate.p)) return;
  mark_left_out(estimate, rivals.rows.size(), rivals.left_out);
}

Rivals all_rivals(const Pairs& pairs, std::int64_t target) { return {pairs, every_rival(pairs), target}; }

Rivals nearest_rivals(const Pairs& pairs, std::int64_t target, std::span<const std::int64_t> must) {
  if (pairs.rivals() <= kFewestRivals) return all_rivals(pairs, target);
  const Eigen::VectorXd z = scores(pairs);
  const std::vector<std::int64_t> order = ascending(pairs, z);
  std::size_t size = order.size();
  double left_out = 0;
  for (; static_cast<std::int64_t>(size) > kFewestRivals; --size) {
    const double with_next = left_out + normal::complement(z[order[size - 1]]);
    if (!(with_next <= kLeftOut) && size <= kMostRivals) break;  // NaN is never dropped
    left_out = with_next;
  }
  std::vector<std::int64_t> rows(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size));
  rows.insert(rows.end(), must.begin(), must.end());
  Rivals rivals = some_rivals(pairs, target, std::move(rows));
  rivals.left_out = left_out;
  return rivals;
}

PairMoments::PairMoments(const Pairs& pairs, std::int64_t begin, std::int64_t stride)
    : origin_((pairs.plus.col(0) + pairs.minus.col(0)) / 2) {
  const std::int64_t m = pairs.rivals();
  even_ = Eigen::VectorXd::Zero(m);
  even_squares_ = odd_squares_ = Eigen::MatrixXd::Zero(m, m);
  for (std::int64_t j = begin; j < pairs.size(); j += stride, ++count_) {
    const Eigen::VectorXd even = (pairs.plus.col(j) + pairs.minus.col(j)) / 2 - origin_;
    const Eigen::VectorXd odd = (pairs.plus.col(j) - pairs.minus.col(j)) / 2;
    even_ += even;
    even_squares_ += even * even.transpose();
    odd_squares_ += odd * odd.transpose();
  }
}

PairMoments PairMoments::without(const PairMoments& part) const {
  PairMoments rest = *this;
  rest.count_ -= part.count_;
  rest.even_ -= part.even_;
  rest.even_squares_ -= part.even_squares_;
  rest.odd_squares_ -= part.odd_squares_;
  return rest;
}

MarginMoments PairMoments::moments() const {
  const auto h = static_cast<double>(count_);
  const Eigen::VectorXd mean = even_ / h;
  Eigen::MatrixXd covariance = odd_squares_ / h;
  if (count_ > 1) covariance += (even_squares_ - h * mean * mean.transpose()) / (h - 1);
  return {origin_ + mean, covariance};
}

Eigen::VectorXd PairMoments::mean_variance() const {
  const auto h = static_cast<double>(count_);
  return (even_squares_.diagonal().array() - even_.array().square() / h) / ((h - 1) * h);
}

MarginMoments CovarianceModel::with(MarginMoments sampled) const {
  sampled.covariance *= weight;
  sampled.covariance += known;
  return sampled;
}

CovarianceModel own_alone(std::int64_t m) { return {1, Eigen::MatrixXd::Zero(m, m)}; }

CovarianceModel CovarianceModel::of(const std::vector<std::int64_t>& rows) const { return {weight, known(rows, rows)}; }

Interval counted_interval(std::int64_t survivors, std::int64_t samples) { return clopper_pearson(survivors, samples, kCounted); }

void attach_interval(Estimate& estimate, const Pairs& pairs, const CovarianceModel& model, std::int64_t survivors,
                     std::int64_t target, double share) {
  if (std::isnan(estimate.p)) return;
  attach_interval(estimate, pairs.size() > 2 ? std_error_of_z(pairs, model, target) : NAN, survivors, 2 * pairs.size(), share);
}

void attach_interval(Estimate& estimate, double std_error, std::int64_t survivors, std::int64_t samples, double share,
                     double counted_level) {
  if (std::isnan(estimate.p)) return;
  estimate.model_samples = samples;
  estimate.survivors = survivors;
  const double z = z_of(estimate);
  if (!std::isfinite(z) || !std::isfinite(std_error)) {  // no error from the normal model: use the counts
    const Interval interval = clopper_pearson(survivors, samples);
    estimate.ci_low = std::min(interval.low, estimate.p);
    estimate.ci_high = std::max(interval.high, estimate.p);
    return;
  }
  const double model_error = share * (kModelError + kModelErrorInTails * std::fabs(z));
  const Evidence evidence{z, std_error, survivors, samples, model_error};
  const Reconciled reconciled = reconcile(evidence);
  const Interval cautious = reconciled_p95(doubting(evidence));
  estimate.p = normal::cdf(reconciled.z);
  estimate.p_fail = normal::complement(reconciled.z);
  estimate.std_error = reconciled.std_error;
  const Interval counted = clopper_pearson(survivors, samples, counted_level);
  estimate.ci_low = std::min({cautious.low, counted.low, estimate.p});
  estimate.ci_high = std::max({cautious.high, counted.high, estimate.p});
}

}  // namespace probust
