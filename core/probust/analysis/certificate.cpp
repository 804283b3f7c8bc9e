// SPDX-License-Identifier: MIT
#include "probust/analysis/certificate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/estimators/statistics/binomial.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

// Whether the noise is "gaussian:0.1", possibly clipped and rounded (a suffix after '|').
bool isotropic(const GroupKey& key) {
  return key.sigma && key.noise.substr(0, key.noise.find('|')) == "gaussian:" + shortest_text(*key.sigma);
}

// The N of "mc:N".
std::optional<std::int64_t> samples_counted(const std::string& estimator) {
  if (!estimator.starts_with("mc:")) return std::nullopt;
  const auto samples = parse_integer(estimator.substr(3));
  return samples && *samples > 0 ? samples : std::nullopt;
}

// The number of survivors if p is a share of the samples. Otherwise, as after smoothing over scales, empty.
std::optional<std::int64_t> surviving_samples(const Estimate& estimate, std::int64_t samples) {
  const double survivors = estimate.p * static_cast<double>(samples);
  const bool share =
      std::isfinite(survivors) && std::fabs(survivors - std::round(survivors)) < 1e-6 && estimate.forwards == samples;
  return share ? std::optional(std::llround(survivors)) : std::nullopt;
}

}  // namespace

double GroupCertificates::share_beyond(double radius) const {
  if (points.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto beyond = std::count_if(points.begin(), points.end(),
                                    [&](const Certificate& point) { return point.radius >= radius && point.radius > 0; });
  return static_cast<double>(beyond) / static_cast<double>(points.size());
}

GroupCertificates certificates_of(const RowGroup& group, double confidence) {
  if (!(confidence >= 0.5 && confidence < 1))
    throw Error{ErrorCode::usage, option("confidence"), "is not between 0.5 and 1", "try 0.999"};
  GroupCertificates result{group.key, confidence};
  const std::optional<std::int64_t> samples = samples_counted(group.key.estimator);
  if (!isotropic(group.key)) result.reason = "the noise is not Gaussian with the same scale on all columns";
  if (!samples) result.reason = "only mc:N counts a fixed number of noisy samples";
  if (!result.reason.empty()) return result;
  for (const Row* row : group.rows) {
    const auto survivors = surviving_samples(row->estimate, *samples);
    if (!survivors) continue;
    const double p_low = clopper_pearson(*survivors, *samples, 2 * confidence - 1).low;
    const double radius = p_low > 0.5 ? *group.key.sigma * normal::quantile(p_low) : 0;
    result.points.push_back({row, p_low, radius});
    result.certified += radius > 0 ? 1 : 0;
  }
  if (result.points.empty()) result.reason = "no row has a count of noisy samples";
  return result;
}

}  // namespace probust
