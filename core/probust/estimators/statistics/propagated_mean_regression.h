// SPDX-License-Identifier: MIT
// How much the noise shifts the mean logits of each point of a block. Moment propagation computes the shift without samples,
// but only approximately. So the sampled shifts are regressed, over the points, on the propagated shifts and on the logits. The
// more the residuals vary between points, compared with the sampling errors, the larger the weight of a point's own samples. This
// is a mixed model whose weights are estimated by restricted maximum likelihood (Patterson and Thompson, "Recovery of inter-block
// information when block sizes are unequal", Biometrika 1971).
#pragma once

#include <optional>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/evaluation.h"
#include "probust/estimators/shared_noise.h"

namespace probust {

/// The minimum number of points for regressions over points.
inline constexpr std::int64_t kLeastPoints = 32;

/// The moments [N] of the logits under the noise, by moment propagation. Empty if there are too few points, if an operator has
/// no moment rule, or if the noise differs from point to point.
using Propagated = std::optional<std::vector<LogitMoments>>;
Propagated propagated(Evaluation& evaluation, const Noise& noise);
/// Whether `propagated` may return moments. Does not run the model.
bool may_propagate(const Points& points, const Noise& noise);

/// The number of pairs, at least two, that the forwards allow after the cost of the propagation is subtracted.
std::int64_t pairs_with_propagation(std::int64_t forwards);
void count_propagation(const Propagated& propagated, std::vector<Estimate>& estimates);

/// Regresses sampled shifts on predictors, and returns the remaining errors. `errors` are the errors of the sampled shifts.
/// `sampled` [n, r] are the shifts of the mean, with errors.correction added; `predictors` [n, q], q < n, include a constant;
/// `share` [r] is the variance of each coordinate of an error, relative to the mean over coordinates; `alike` [n, n] are
/// similarities. Returns `errors` if predictors or shifts are not finite.
CommonErrors regressed(const CommonErrors& errors, const Eigen::MatrixXd& sampled, const Eigen::MatrixXd& predictors,
                       const Eigen::VectorXd& share, const Eigen::MatrixXd& alike);

}  // namespace probust
