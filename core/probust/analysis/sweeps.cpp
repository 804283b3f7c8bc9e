// SPDX-License-Identifier: MIT
#include "probust/analysis/sweeps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "probust/base/error.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

// Phi^-1(p) as a finite number.
double finite_quantile(const Estimate& estimate) {
  const double half_a_copy = estimate.forwards > 0 ? 0.5 / static_cast<double>(estimate.forwards) : 0;
  const double least = std::max(half_a_copy, 1e-300);
  const double failure = estimate.failure();  // not p_fail if that is only a bound
  if (failure <= 0) return normal::quantile_complement(least);
  if (estimate.p <= 0) return normal::quantile(least);
  return estimate.p < 0.5 ? normal::quantile(estimate.p) : normal::quantile_complement(failure);
}

// A point's rows that have p, by ascending sigma.
using PointRows = std::vector<const Row*>;

ToleratedScale tolerated_scale(const PointRows& rows, double threshold) {
  using Kind = ToleratedScale::Kind;
  const auto reached = std::find_if(rows.begin(), rows.end(), [&](const Row* row) { return row->estimate.p <= threshold; });
  if (reached == rows.end()) return {Kind::above, *rows.back()->sigma};
  const Row& after = **reached;
  if (after.estimate.p == threshold) return {Kind::within, *after.sigma};
  if (reached == rows.begin()) return {Kind::below, *after.sigma};
  const Row& before = **(reached - 1);
  const double high = finite_quantile(before.estimate), low = finite_quantile(after.estimate), z = normal::quantile(threshold);
  const double share = high > low ? std::clamp((high - z) / (high - low), 0.0, 1.0) : 0.5;
  return {Kind::within, std::exp(std::lerp(std::log(*before.sigma), std::log(*after.sigma), share))};
}

std::vector<ToleratedScale> scale_quantiles(const std::vector<PointTolerance>& points) {
  std::vector<ToleratedScale> scales;
  scales.reserve(points.size());
  for (const PointTolerance& point : points) scales.push_back(point.scale);
  const auto place = [](const ToleratedScale& scale) {
    const int kind = scale.kind == ToleratedScale::Kind::below ? 0 : scale.kind == ToleratedScale::Kind::within ? 1 : 2;
    return std::tuple(kind, scale.sigma);
  };
  std::sort(scales.begin(), scales.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  std::vector<ToleratedScale> quantiles;
  for (const double share : Tolerances::kShares) {
    if (scales.empty()) break;
    const auto rank = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(scales.size())));
    quantiles.push_back(scales[std::max<std::int64_t>(1, rank) - 1]);
  }
  return quantiles;
}

}  // namespace

std::vector<RowSweep> sweeps_of(std::span<const Row> rows) {
  std::vector<RowSweep> sweeps;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  for (RowGroup& group : grouped(rows)) {
    const GroupKey& key = group.key;
    if (!key.sigma) continue;
    const std::string shape = noise_shape(key.noise, key.sigma);
    const auto [place, fresh] = places.try_emplace({key.model, shape, key.estimator}, sweeps.size());
    if (fresh) sweeps.push_back({key.model, shape, key.estimator, {}});
    std::sort(group.rows.begin(), group.rows.end(), [](const Row* a, const Row* b) { return a->index < b->index; });
    sweeps[place->second].scales.push_back({*key.sigma, group.mean_p(), std::move(group.rows)});
  }
  for (RowSweep& sweep : sweeps)
    std::sort(sweep.scales.begin(), sweep.scales.end(), [](const auto& a, const auto& b) { return a.sigma < b.sigma; });
  return sweeps;
}

Tolerances tolerances_of(const RowSweep& sweep, double threshold) {
  if (!(threshold > 0 && threshold < 1))
    throw Error{ErrorCode::usage, option("threshold"), "is not between 0 and 1", "give a probability, for example 0.9"};
  std::map<std::int64_t, PointRows> points;
  for (const SweepScale& scale : sweep.scales) {
    for (const Row* row : scale.rows) {
      PointRows& own = points[row->index];
      if (std::isfinite(row->estimate.p)) own.push_back(row);
    }
  }
  Tolerances tolerances{.threshold = threshold};
  for (const auto& [index, own] : points) {
    if (own.empty()) {
      ++tolerances.unanswered;
      continue;
    }
    const ToleratedScale scale = tolerated_scale(own, threshold);
    tolerances.points.push_back({own.front(), scale});
    ++(scale.kind == ToleratedScale::Kind::within  ? tolerances.within
       : scale.kind == ToleratedScale::Kind::below ? tolerances.below
                                                   : tolerances.above);
  }
  tolerances.quantiles = scale_quantiles(tolerances.points);
  return tolerances;
}

}  // namespace probust
