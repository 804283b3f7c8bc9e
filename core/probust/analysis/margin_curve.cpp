// SPDX-License-Identifier: MIT
#include "probust/analysis/margin_curve.h"

#include <cmath>

#include "probust/analysis/scale_process.h"
#include "probust/estimators/common.h"
#include "probust/estimators/statistics/pair_statistics.h"

namespace probust {
namespace {

// The share of a margin's errors that is independent of the other margins: all of them contain the target's logit.
constexpr double kIndependent = 0.3;
// Width in ln sigma over which covariance shapes are averaged; both constants were measured.
constexpr double kLocal = 0.7;

// Limit on the entries of the covariances of all scales together. A rival must be used at every scale to have a curve.
constexpr std::size_t kMostEntries = std::size_t{1} << 21;

// Sums over the pairs, one per scale.
using Moments = std::vector<PairMoments>;

// A sweep's scales, and the prior for functions of them.
struct Scales {
  Eigen::VectorXd sigma;
  ScaleProcess process;
};

// Replaces the log variances by a straight line in t, because a single one is too uncertain to be used as a weight.
Eigen::VectorXd evened(const ScaleProcess& process, const Eigen::VectorXd& variances) {
  constexpr double kLeast = 1e-10;  // linear models have zero variance
  return process.line(variances.array().max(kLeast).log()).array().exp();
}

// [S] The covariances at unit scale, normalised to size one and averaged over nearby scales.
std::vector<Eigen::MatrixXd> local_shapes(const Scales& scales, const std::vector<Eigen::MatrixXd>& own) {
  std::vector<Eigen::MatrixXd> shapes(own.size(), Eigen::MatrixXd::Zero(own[0].rows(), own[0].cols()));
  for (std::size_t s = 0; s < own.size(); ++s) {
    const Eigen::ArrayXd gap = (scales.process.t().array() - scales.process.t()[static_cast<Eigen::Index>(s)]) / kLocal;
    const Eigen::ArrayXd near = (-gap.square() / 2).exp();
    for (std::size_t r = 0; r < own.size(); ++r) shapes[s] += near[static_cast<Eigen::Index>(r)] / near.sum() * own[r];
  }
  return shapes;
}

// The normal distributions of the margins at every scale, smoothed over all scales. Empty if numbers are not finite or nothing
// varies.
std::vector<MarginMoments> smoothed(const Scales& scales, const Moments& moments, const Eigen::VectorXd& at_x) {
  const Eigen::Index S = scales.sigma.size(), m = at_x.size();
  std::vector<MarginMoments> curve;
  Eigen::VectorXd sizes(S);  // ln of the total variance at unit scale
  curve.reserve(static_cast<std::size_t>(S));
  for (Eigen::Index s = 0; s < S; ++s) {
    curve.push_back(moments[s].moments());
    sizes[s] = std::log(curve[s].covariance.trace()) - 2 * std::log(scales.sigma[s]);
    if (!std::isfinite(sizes[s]) || !curve[s].mean.allFinite()) return {};
  }
  const Eigen::VectorXd errors = Eigen::VectorXd::Constant(S, 1.0 / static_cast<double>(moments[0].count()));
  const double level = sizes.mean();
  const Eigen::VectorXd size = scales.process.smooth(sizes.array() - level, errors, 1).mean.array() + level;
  const Eigen::VectorXd spread = scales.sigma.array() * (size.array() / 2).exp();
  std::vector<Eigen::MatrixXd> own;
  own.reserve(curve.size());
  for (Eigen::Index s = 0; s < S; ++s) own.push_back(curve[s].covariance / (spread[s] * spread[s]));
  const std::vector<Eigen::MatrixXd> shapes = local_shapes(scales, own);

  Eigen::MatrixXd shifts(S, m), deviations(S, m);
  Eigen::VectorXd variances(S);
  const auto ratio = [](const Eigen::ArrayXd& a, const Eigen::ArrayXd& b) { return (b > 0).select(a / b, 0.0).eval(); };
  for (Eigen::Index s = 0; s < S; ++s) {
    const Eigen::ArrayXd deviation = spread[s] * shapes[s].diagonal().array().sqrt();
    deviations.row(s) = deviation;
    shifts.row(s) = ratio((curve[s].mean - at_x).array(), deviation);
    variances[s] = ratio(moments[s].mean_variance().array(), deviation.square()).mean();
  }
  const Eigen::MatrixXd smooth = scales.process.smooth(shifts, evened(scales.process, variances), kIndependent).mean;
  for (Eigen::Index s = 0; s < S; ++s) {
    const Eigen::ArrayXd deviation = deviations.row(s), shift = smooth.row(s);
    curve[s].mean = (deviation > 0).select(at_x.array() + deviation * shift, curve[s].mean.array());
    curve[s].covariance = spread[s] * spread[s] * shapes[s];
  }
  return curve;
}

// Selects, at every scale, all rivals that are `wanted` at some scale.
template <class Wanted>
std::vector<Rivals> of_rivals(std::span<const Pairs> pairs, std::int64_t target, const Wanted& wanted) {
  std::vector<std::int64_t> rows;
  for (const Pairs& one : pairs) {
    const std::vector<std::int64_t> own = wanted(one);
    rows.insert(rows.end(), own.begin(), own.end());
  }
  std::vector<Rivals> some;
  some.reserve(pairs.size());
  for (const Pairs& one : pairs) some.push_back(some_rivals(one, target, rows));
  return some;
}

Moments moments_of(const std::vector<Rivals>& rivals, std::int64_t begin, std::int64_t stride) {
  Moments moments;
  moments.reserve(rivals.size());
  for (const Rivals& one : rivals) moments.emplace_back(one.pairs, begin, stride);
  return moments;
}

// The standard errors [S] of Phi^-1(p) on the smoothed curve: a jackknife that omits a group of pairs at all scales at once.
Eigen::ArrayXd standard_errors(const Scales& scales, std::span<const Pairs> pairs, const Eigen::VectorXd& at_x,
                               std::int64_t target) {
  const std::vector<Rivals> rivals = of_rivals(pairs, target, nearest_rows);
  const Moments all = moments_of(rivals, 0, 1);
  return jackknife(pairs[0].size(), [&](std::int64_t group, std::int64_t groups) {
    Moments rest = moments_of(rivals, group, groups);
    for (std::size_t s = 0; s < rest.size(); ++s) rest[s] = all[s].without(rest[s]);
    Eigen::ArrayXd z = Eigen::ArrayXd::Constant(scales.sigma.size(), NAN);
    const std::vector<MarginMoments> curve = smoothed(scales, rest, at_x(rivals[0].rows));
    for (std::size_t s = 0; s < curve.size(); ++s) z[static_cast<Eigen::Index>(s)] = rough_z(curve[s], rivals[s].target);
    return z;
  });
}

std::vector<Estimate> each_by_itself(std::span<const Pairs> pairs, std::int64_t target) {
  std::vector<Estimate> estimates;
  estimates.reserve(pairs.size());
  for (const Pairs& one : pairs) estimates.push_back(estimate_from_pairs(one, target));
  return estimates;
}

}  // namespace

std::vector<Estimate> estimate_margin_curve(std::span<const Pairs> pairs, std::span<const double> sigmas,
                                            const Eigen::VectorXd& at_x, std::int64_t target) {
  const Eigen::Map<const Eigen::VectorXd> sigma(sigmas.data(), static_cast<Eigen::Index>(sigmas.size()));
  const Scales scales{sigma, ScaleProcess(sigmas)};
  const std::vector<Rivals> rivals = of_rivals(pairs, target, [&](const Pairs& one) { return nearest_rivals(one, target).rows; });
  const std::size_t m = rivals[0].rows.size();
  const bool small = m * m * pairs.size() <= kMostEntries;
  const std::vector<MarginMoments> curve =
      small ? smoothed(scales, moments_of(rivals, 0, 1), at_x(rivals[0].rows)) : std::vector<MarginMoments>{};
  if (curve.empty()) return each_by_itself(pairs, target);
  const Eigen::ArrayXd errors = standard_errors(scales, pairs, at_x, target);
  std::vector<Estimate> estimates;
  estimates.reserve(pairs.size());
  for (std::size_t s = 0; s < pairs.size(); ++s) {
    Estimate estimate = from_moments(curve[s], rivals[s].target);
    attach_interval(estimate, errors[static_cast<Eigen::Index>(s)], count_survivors(pairs[s], target), 2 * pairs[s].size(), 1);
    estimate.forwards = 2 * pairs[s].size();
    estimate.add_note("smoothed over " + std::to_string(sigmas.size()) + " scales");
    estimates.push_back(estimate);
  }
  return estimates;
}

}  // namespace probust
