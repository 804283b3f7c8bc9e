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

/// One estimate on a curve: p and 1 - p at a scale, as good as the share of `samples` independent copies.
struct CurvePoint {
  double sigma, p, p_fail, samples;
};

struct CurveValue {
  double p, p_fail;
  double ci_low, ci_high;  ///< 95%
  double std_error;
};

/// The curve that independent estimates at several scales have in common: a quadratic in ln sigma for z = Phi^-1(p), weighted by
/// the variance (1 + z² / 2) / samples that normal margins give z, with a ridge of 1 on the square term. At fewer than three
/// scales, or where a p is NaN, values stay as they are. The interval widens where points scatter about the curve by more than
/// their variance.
std::vector<CurveValue> smooth_curve(std::span<const CurvePoint> points);

/// Estimates at several scales of one noise shape, with noise of its own at each scale (else errors would be shared and nothing
/// would average out), smoothed point by point: [scales][points]. The statuses that were "ok" become "ok: smoothed over N
/// scales". Estimates without a standard error have no noise to smooth and stay. `logits` [N, C] are those at the points.
Result<std::vector<std::vector<Estimate>>> estimate_curve(Executor& executor, const Points& points, const Tensor& logits,
                                                          const std::shared_ptr<const NoiseShape>& shape,
                                                          std::span<const double> sigmas, const EstimatorSpec& estimator,
                                                          const Event& event = {});

/// p at each scale from common rays: the direction of a copy's noise stays, and bisection over the scales finds where the answer
/// changes, in log2(scales) forwards or so instead of one for each scale. Unsmoothed: at each scale p is a share of rays. A ray
/// may leave the decision region and return, which bisection does not see: of each ray one scale at random is asked as well, and
/// what differs corrects the shares without bias and widens the interval.
struct RayCurve {
  std::vector<Estimate> estimates;  ///< [scales]
  double differed = 0;              ///< the share of rays whose answer at the scale asked was not what bisection said
};

/// For each point, over ascending `sigmas`.
Result<std::vector<RayCurve>> ray_curves(Executor& executor, const Points& points, const NoiseShape& shape,
                                         std::span<const double> sigmas, std::int64_t rays);

}  // namespace probust
