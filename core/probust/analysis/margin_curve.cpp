// SPDX-License-Identifier: MIT
#include "probust/analysis/margin_curve.h"

#include <cmath>

#include "probust/analysis/scale_process.h"
#include "probust/estimators/common.h"
#include "probust/estimators/pairs.h"

namespace probust {
namespace {

constexpr double kWidening = 0.4;  // the standard deviation expected of the trend over ln sigma of ln(total variance / sigma²)
constexpr double kIndependent = 0.3;  // of a margin's errors: all margins share the target's logit

// Sums over the pairs at every scale.
using Moments = std::vector<PairMoments>;

// A sweep's scales, and what is known of functions of them.
struct Scales {
  Eigen::VectorXd sigma;
  ScaleProcess process;
};

// The variances of errors grow evenly over t, in their logarithms: each alone is known too badly to weigh by.
Eigen::VectorXd evened(const ScaleProcess& process, const Eigen::VectorXd& variances) {
  constexpr double kLeast = 1e-10;  // of linear models there are none
  const Eigen::VectorXd logs = variances.array().max(kLeast).log();
  const double slope = process.slope(logs, 1e-9, 1);
  return (logs.mean() + slope * process.t().array()).exp();
}

// The margins' normal distributions at every scale (at noise scale 1), from those of all scales; empty where they cannot be one
// curve.
std::vector<Linearization> smoothed(const Scales& scales, const Moments& moments, const Eigen::VectorXd& at_x) {
  const Eigen::Index S = scales.sigma.size(), m = at_x.size();
  std::vector<Linearization> curve;
  Eigen::VectorXd sizes(S);  // ln of the total variance at unit scale
  curve.reserve(static_cast<std::size_t>(S));
  for (Eigen::Index s = 0; s < S; ++s) {
    curve.push_back(moments[s].normal());
    sizes[s] = std::log(curve[s].gram.trace()) - 2 * std::log(scales.sigma[s]);
    if (!std::isfinite(sizes[s]) || !curve[s].margins.allFinite()) return {};
  }
  const double widening = scales.process.slope(sizes, 1.0 / static_cast<double>(moments[0].count()), kWidening * kWidening);
  const Eigen::VectorXd spread = scales.sigma.array() * (widening / 2 * scales.process.t().array()).exp();
  Eigen::MatrixXd unit = Eigen::MatrixXd::Zero(m, m);
  for (Eigen::Index s = 0; s < S; ++s) unit += curve[s].gram / (spread[s] * spread[s] * static_cast<double>(S));

  const Eigen::ArrayXd deviation = unit.diagonal().array().sqrt();
  const auto in_deviations = [&](const Eigen::ArrayXd& values) { return (deviation > 0).select(values / deviation, 0.0).eval(); };
  Eigen::MatrixXd shifts(S, m);
  Eigen::VectorXd variances(S);
  for (Eigen::Index s = 0; s < S; ++s) {
    shifts.row(s) = in_deviations((curve[s].margins - at_x).array() / spread[s]);
    variances[s] = in_deviations(in_deviations(moments[s].mean_variance().array())).mean() / (spread[s] * spread[s]);
  }
  const Eigen::MatrixXd smooth = scales.process.smooth(shifts, evened(scales.process, variances), kIndependent).mean;
  for (Eigen::Index s = 0; s < S; ++s) {
    const Eigen::ArrayXd shifted = at_x.array() + spread[s] * deviation * smooth.row(s).transpose().array();
    curve[s].margins = (deviation > 0).select(shifted, curve[s].margins.array());
    curve[s].gram = spread[s] * spread[s] * unit;
  }
  return curve;
}

// The same rivals at every scale.
std::vector<Rivals> of_rivals(std::span<const Pairs> pairs, std::int64_t target, const std::vector<std::int64_t>& rows) {
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

// The standard errors [S] of Phi^-1(p) of the smoothed curve: a group of pairs is left out at every scale at once.
Eigen::ArrayXd standard_errors(const Scales& scales, std::span<const Pairs> pairs, const Eigen::VectorXd& at_x,
                               std::int64_t target) {
  std::vector<std::int64_t> rows;
  for (const Pairs& one : pairs) {
    const std::vector<std::int64_t> own = most_threatening(one);
    rows.insert(rows.end(), own.begin(), own.end());
  }
  const std::vector<Rivals> rivals = of_rivals(pairs, target, rows);
  const Moments all = moments_of(rivals, 0, 1);
  return jackknife(pairs[0].size(), [&](std::int64_t group, std::int64_t groups) {
    Moments rest = moments_of(rivals, group, groups);
    for (std::size_t s = 0; s < rest.size(); ++s) rest[s] = all[s].without(rest[s]);
    Eigen::ArrayXd z = Eigen::ArrayXd::Constant(scales.sigma.size(), NAN);
    const std::vector<Linearization> curve = smoothed(scales, rest, at_x(rivals[0].rows));
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
  std::vector<std::int64_t> rows;
  for (const Pairs& one : pairs) {
    const std::vector<std::int64_t> own = decisive(one, target).rows;
    rows.insert(rows.end(), own.begin(), own.end());
  }
  const std::vector<Rivals> rivals = of_rivals(pairs, target, rows);
  const std::vector<Linearization> curve = smoothed(scales, moments_of(rivals, 0, 1), at_x(rivals[0].rows));
  if (curve.empty()) return each_by_itself(pairs, target);
  const Eigen::ArrayXd errors = standard_errors(scales, pairs, at_x, target);
  std::vector<Estimate> estimates;
  estimates.reserve(pairs.size());
  for (std::size_t s = 0; s < pairs.size(); ++s) {
    Estimate estimate = from_linearization(curve[s], rivals[s].target, 1, NormalCdf::exact, 0);
    judge(estimate, errors[static_cast<Eigen::Index>(s)], count_kept(pairs[s], target), 2 * pairs[s].size(), 1);
    estimate.forwards = 2 * pairs[s].size();
    add_to_status(estimate, "smoothed over " + std::to_string(sigmas.size()) + " scales");
    estimates.push_back(estimate);
  }
  return estimates;
}

}  // namespace probust
