// SPDX-License-Identifier: MIT
//
// p as a function of the noise's scale, for less than its points one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "probust/estimators/estimator.h"

namespace probust {

/// One estimate on a curve: p and 1 - p at a scale, from `samples` noisy copies by way of normal margins, whose z = Phi^-1(p) has
/// the variance (1 + z² / 2) / samples. Shares of copies have another, and none where no copy or all of them fail.
struct CurvePoint {
  double sigma, p, p_fail, samples;
};

struct CurveValue {
  double p, p_fail;
  double ci_low, ci_high;  ///< 95%; NaN where nothing was smoothed
  double std_error;        ///< likewise
};

/// The curve that independent estimates at several scales have in common: z = Phi^-1(p) as a function of ln sigma
/// (scale_process.h), observed with the variance (1 + z² / 2) / samples. At fewer than three scales, or where a number is not
/// finite, values stay as they are. The interval is that of the curve, if the estimates have no error in common.
std::vector<CurveValue> smooth_curve(std::span<const CurvePoint> points);

/// Estimates at several scales of one noise shape: [scales][points]. From three scales on, those of estimators that allow it
/// (EstimatorDefinition::smooths) are made with noise of their own at each scale (else errors would be shared and nothing would
/// average out) and smoothed point by point: the margins of probit (pooled or not) and of auto below a budget of 1,000, which
/// then is probit, under noise that is additive (margin_curve.h); else Phi^-1(p), where all of a point's estimates are ok.
/// Statuses add "smoothed over N scales". Intervals hold what the copies at each scale allow by themselves. `logits` [N, C] are
/// those at the points.
Result<std::vector<std::vector<Estimate>>> estimate_curve(Executor& executor, const Points& points, const Tensor& logits,
                                                          const std::shared_ptr<const NoiseShape>& shape,
                                                          std::span<const double> sigmas, const EstimatorSpec& estimator,
                                                          const Event& event = {});

/// p at each scale from common rays: the direction of a copy's noise stays, and bisection over the scales finds where the answer
/// changes, in log2(scales) forwards or so instead of one for each scale. Unsmoothed: at each scale p is a share of rays. A ray
/// may leave the decision region and return, which bisection does not see: of each ray one scale at random is asked as well, and
/// what differs corrects the shares (without bias, but for their being kept within 0 and 1) and
/// widens the interval.
struct RayCurve {
  std::vector<Estimate> estimates;  ///< [scales]
  double differed = 0;              ///< the share of rays whose answer at the scale asked was not what bisection said
};

/// For each point, over ascending `sigmas`.
Result<std::vector<RayCurve>> ray_curves(Executor& executor, const Points& points, const NoiseShape& shape,
                                         std::span<const double> sigmas, std::int64_t rays);

}  // namespace probust
