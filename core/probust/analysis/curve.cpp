// SPDX-License-Identifier: MIT
#include "probust/analysis/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "probust/analysis/margin_curve.h"
#include "probust/analysis/scale_process.h"
#include "probust/base/parallel.h"
#include "probust/estimators/common.h"
#include "probust/estimators/latent.h"
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

constexpr double kTwoSided95 = 1.959963984540054;

// Phi^-1(p), computed from the smaller of p and 1 - p.
double probit_of(const CurvePoint& point) {
  constexpr double kLeast = 1e-12;  // below this, the curve would fit values that no sample can resolve
  if (point.p < 0.5) return normal::quantile(std::max(point.p, kLeast));
  return -normal::quantile(std::max(point.p_fail, kLeast));
}

CurveValue as_it_is(const CurvePoint& point) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  return {point.p, point.p_fail, kUnknown, kUnknown, kUnknown};
}

// A different seed for each scale of a sweep.
std::uint64_t seed_of(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t x = seed ^ ((place + 1) * 0x9e3779b97f4a7c15ULL);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

std::vector<CurveValue> smooth_curve(std::span<const CurvePoint> points) {
  const auto n = static_cast<Eigen::Index>(points.size());
  const bool usable = std::all_of(points.begin(), points.end(), [](const CurvePoint& point) {
    return std::isfinite(point.p) && std::isfinite(point.p_fail) && point.sigma > 0 && std::isfinite(point.sigma) &&
           point.samples > 0 && std::isfinite(point.samples);
  });
  std::vector<CurveValue> values;
  if (n < 3 || !usable) {
    for (const CurvePoint& point : points) values.push_back(as_it_is(point));
    return values;
  }
  std::vector<double> sigmas;
  Eigen::VectorXd z(n), variance(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    sigmas.push_back(points[i].sigma);
    z[i] = probit_of(points[i]);
    variance[i] = (1 + 0.5 * z[i] * z[i]) / points[i].samples;
  }
  const ScaleProcess::Posterior posterior = ScaleProcess(sigmas).smooth(z, variance, 1);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double fitted = posterior.mean(i, 0), error = std::sqrt(posterior.variance[i]);
    values.push_back({normal::cdf(fitted), normal::complement(fitted), normal::cdf(fitted - kTwoSided95 * error),
                      normal::cdf(fitted + kTwoSided95 * error), normal::pdf(fitted) * error});
  }
  return values;
}

namespace {

using Smoothing = EstimatorDefinition::Smoothing;

Smoothing smoothing_of(const EstimatorSpec& estimator) { return estimator.definition->smoothing; }

// The equivalent number of noisy samples of an estimate: its forwards, or more if its standard error implies more.
double worth_of(const Estimate& estimate) {
  constexpr double kExact = 1e12;
  const double z = z_of(estimate), variance = 1 + z * z / 2;
  const double error = estimate.std_error.value_or(NAN) / normal::pdf(z);  // standard error of z
  const double worth = variance / (error * error);
  const auto forwards = static_cast<double>(estimate.forwards);
  return std::isfinite(error) ? std::clamp(worth, forwards, std::max(forwards, kExact)) : forwards;
}

// The interval from the samples at one scale only; if none were counted, the estimate's own interval.
Interval counted(const Estimate& estimate) {
  if (estimate.model_samples > 0) return counted_interval(estimate.survivors, estimate.model_samples);
  return {estimate.ci_low.value_or(estimate.p), estimate.ci_high.value_or(estimate.p)};
}

// Smooths the estimates of one point over all scales, if each of them allows it.
void smooth_point(std::span<const double> sigmas, const EstimatorSpec& estimator, std::span<Estimate* const> column) {
  std::vector<CurvePoint> raw;
  for (std::size_t s = 0; s < column.size(); ++s) {
    const Estimate& one = *column[s];
    const bool sound =
        one.status == Status::ok && smoothing_of(one.method.value_or(estimator)) != Smoothing::none && std::isfinite(one.p);
    if (!sound) return;
    raw.push_back({sigmas[s], one.p, one.p_fail, worth_of(one)});
  }
  const std::vector<CurveValue> smooth = smooth_curve(raw);
  for (std::size_t s = 0; s < column.size(); ++s) {
    Estimate& one = *column[s];
    one.p = smooth[s].p;
    one.p_fail = smooth[s].p_fail;
    const Interval own = counted(one);
    one.ci_low = std::min(smooth[s].ci_low, own.low);
    one.ci_high = std::max(smooth[s].ci_high, own.high);
    one.std_error = smooth[s].std_error;
    one.add_note("smoothed over " + std::to_string(sigmas.size()) + " scales");
  }
}

using Curves = std::vector<std::vector<Estimate>>;  // [scales][points]

// A block of points at all scales of one noise shape. Noise is drawn independently at each scale, because shared errors would not
// average out.
struct Sweep {
  Executor& executor;
  const Points& points;
  const Tensor& logits;
  const std::shared_ptr<const NoiseShape>& shape;
  std::span<const double> sigmas;

  Points at(std::size_t scale, Points some) const {
    some.seed = seed_of(points.seed, scale);
    return some;
  }
  Noise noise(std::size_t scale) const { return {shape, sigmas[scale]}; }
};

// A point's estimates for its target and, if its label is another class, for the label.
std::vector<Estimate> margin_curve_of(const std::vector<Pairs>& own, std::span<const double> sigmas,
                                      std::span<const float> logits, std::int64_t target, std::int64_t label) {
  std::vector<Estimate> column = estimate_margin_curve(own, sigmas, margins_of(logits, target), target);
  if (label < 0) return column;
  std::vector<Pairs> others;
  others.reserve(own.size());
  for (const Pairs& pairs : own) others.push_back(retargeted(pairs, target, label));
  const std::vector<Estimate> of_label = estimate_margin_curve(others, sigmas, margins_of(logits, label), label);
  for (std::size_t s = 0; s < column.size(); ++s) column[s].set_label(of_label[s]);
  return column;
}

// Smooths points first .. first + count - 1. Their pairs at all scales are in memory at once.
void smooth_margins(const Sweep& sweep, std::int64_t samples, std::int64_t first, std::int64_t count, Curves& curves) {
  const Points part = slice(sweep.points, first, count);
  std::vector<std::vector<Pairs>> pairs;
  for (std::size_t s = 0; s < sweep.sigmas.size(); ++s)
    pairs.push_back(sweep.executor.pairs(sweep.at(s, part), sweep.noise(s), samples / 2).value());
  const bool missing = sweep.executor.handles_missing();
  parallel_for(count, sweep.executor.options().threads, [&](std::int64_t i, int) {
    stop_if_asked(&sweep.executor.progress.stop);
    std::vector<Pairs> own;
    own.reserve(pairs.size());
    for (auto& scale : pairs) own.push_back(std::move(scale[i]));
    const std::int64_t target = part.target[i];
    std::vector<Estimate> column(own.size(), nonfinite_estimate());
    for (Estimate& one : column) one.forwards = 2 * own[0].size();
    if (finite_at(sweep.points, sweep.logits, first + i, missing))
      column = margin_curve_of(own, sweep.sigmas, sweep.logits.row(first + i), target, other_label(part, i));
    for (std::size_t s = 0; s < own.size(); ++s) curves[s][first + i] = std::move(column[s]);
  });
}

Curves margin_curves(const Sweep& sweep, std::int64_t samples) {
  Curves curves(sweep.sigmas.size(), std::vector<Estimate>(static_cast<std::size_t>(sweep.points.size())));
  const auto scales = static_cast<std::int64_t>(sweep.sigmas.size());
  const std::int64_t step = points_at_once(sweep.executor, bytes_of_pairs(samples / 2, sweep.executor.classes()) * scales);
  for (std::int64_t first = 0; first < sweep.points.size(); first += step)
    smooth_margins(sweep, samples, first, std::min(step, sweep.points.size() - first), curves);
  return curves;
}

// Smooths Phi^-1(p), from separate estimates at each scale.
Curves probability_curves(const Sweep& sweep, const EstimatorSpec& estimator) {
  Curves curves;
  for (std::size_t s = 0; s < sweep.sigmas.size(); ++s) {
    Evaluation evaluation(sweep.executor, sweep.at(s, sweep.points), sweep.logits);
    curves.push_back(estimate(evaluation, sweep.noise(s), estimator).value());
  }
  for (std::int64_t i = 0; i < sweep.points.size(); ++i) {
    std::vector<Estimate*> column;
    column.reserve(curves.size());
    for (auto& estimates : curves) column.push_back(&estimates[i]);
    smooth_point(sweep.sigmas, estimator, column);
  }
  return curves;
}

// The estimator to run at each scale. If margins are smoothed, this is probit without pooling, even if auto was requested: no
// other estimator had smaller errors in any measured sweep.
EstimatorSpec chosen(const EstimatorSpec& estimator) {
  const bool automatic = estimator.is_auto() && estimator.samples < kRareBudget;
  if (!automatic && smoothing_of(estimator) != Smoothing::margins) return estimator;
  return spec_of(estimate_probit, std::max<std::int64_t>(2, estimator.samples));
}

Curves unsmoothed(Evaluation evaluation, const std::shared_ptr<const NoiseShape>& shape, std::span<const double> sigmas,
                  const EstimatorSpec& estimator) {
  Curves curves;
  for (const double sigma : sigmas) curves.push_back(estimate(evaluation, {shape, sigma}, estimator).value());
  return curves;
}

}  // namespace

Result<std::vector<std::vector<Estimate>>> estimate_curve(Executor& executor, const Points& points, const Tensor& logits,
                                                          const std::shared_ptr<const NoiseShape>& shape,
                                                          std::span<const double> sigmas, const EstimatorSpec& estimator,
                                                          const Event& event) {
  constexpr std::int64_t kFewestSamples = 6;  // needed for the standard errors of margins
  return guarded("sweep", [&] {
    auto latent = shape->map() == nullptr ? std::nullopt : latent_problem(executor, points, {shape});
    if (latent)
      return estimate_curve(latent->executor, latent->points, latent->logits, latent->noise.shape, sigmas, estimator, event)
          .value();
    if (sigmas.size() < 3 || smoothing_of(estimator) == Smoothing::none || !event.plain() || points.size() == 0)
      return unsmoothed({executor, points, logits, event}, shape, sigmas, estimator);
    const Sweep sweep{executor, points, logits, shape, sigmas};
    const EstimatorSpec used = chosen(estimator);
    if (smoothing_of(used) != Smoothing::margins || !shape->additive() || used.samples < kFewestSamples)
      return probability_curves(sweep, estimator);
    Curves curves = margin_curves(sweep, used.samples);
    if (used.definition == estimator.definition) return curves;
    for (auto& estimates : curves) {
      for (Estimate& one : estimates) one.method = used;
    }
    return curves;
  });
}

}  // namespace probust
