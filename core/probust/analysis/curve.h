// SPDX-License-Identifier: MIT
//
// p as a function of the noise scale, at a lower cost than separate estimates at each scale.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "probust/estimators/estimator.h"

namespace probust {

/// An estimate on a curve: p and 1 - p at one scale, from `samples` noisy samples whose margins are taken to be normal. The
/// variance of z = Phi^-1(p) is then (1 + z² / 2) / samples. (The variance of a share of samples is different, and is undefined
/// if no sample or every sample fails.)
struct CurvePoint {
  double sigma, p, p_fail, samples;
};

struct CurveValue {
  double p, p_fail;
  double ci_low, ci_high;  ///< 95% interval; NaN if nothing was smoothed
  double std_error;        ///< standard error of p; NaN if nothing was smoothed
};

/// Smooths independent estimates at several scales: z = Phi^-1(p) is modelled as a function of ln sigma (scale_process.h),
/// observed with variance (1 + z² / 2) / samples. With fewer than three scales, or if a number is not finite, the values are
/// unchanged. The interval is that of the curve; it assumes that the errors of the estimates are independent.
std::vector<CurveValue> smooth_curve(std::span<const CurvePoint> points);

/// Estimates at several scales of one noise shape: [scales][points]. With three scales or more, estimators that allow it
/// (EstimatorDefinition::smoothing) draw independent noise at each scale, because shared errors would not average out, and the
/// results are smoothed for each point. If the noise is additive, the margins are smoothed for probit (pooled or not), and for
/// auto below a budget of 1,000, which then uses probit (margin_curve.h). Otherwise Phi^-1(p) is smoothed, if all estimates of
/// the point have the status ok. The notes then contain "smoothed over N scales". Each interval contains the interval from the
/// samples at its scale alone. `logits` [N, C] are the logits at the points.
Result<std::vector<std::vector<Estimate>>> estimate_curve(Executor& executor, const Points& points, const Tensor& logits,
                                                          const std::shared_ptr<const NoiseShape>& shape,
                                                          std::span<const double> sigmas, const EstimatorSpec& estimator,
                                                          const Event& event = {});

}  // namespace probust
