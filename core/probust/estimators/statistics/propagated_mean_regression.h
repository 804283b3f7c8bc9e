// SPDX-License-Identifier: MIT
// How much the noise shifts the mean logits of each point of a block. Moment propagation computes the shift without samples, but
// only approximately. So the shifts that are sampled are regressed, over the points, on the propagated ones and on the logits.
// The more the remainder varies from point to point, compared with the sampling errors, the more weight a point's own samples
// get: a mixed model with its weights from restricted maximum likelihood (Patterson and Thompson, "Recovery of inter-block
// information when block sizes are unequal", Biometrika 1971).
#pragma once

#include <optional>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/evaluation.h"
#include "probust/estimators/shared_noise.h"

namespace probust {

/// The minimum number of points for regressions over points.
inline constexpr std::int64_t kLeastPoints = 32;

/// The moments of the logits under the noise, by moment propagation [N]. Empty if there are too few points, an operator has no
/// moment rule, or the noise differs from point to point.
using Propagated = std::optional<std::vector<LogitMoments>>;
Propagated propagated(Evaluation& evaluation, const Noise& noise);
/// Whether moments may be available, without running the model.
bool may_propagate(const Points& points, const Noise& noise);

/// The number of pairs that this many forwards pay for in addition to the propagation, at least two.
std::int64_t pairs_with_propagation(std::int64_t forwards);
void count_propagation(const Propagated& propagated, std::vector<Estimate>& estimates);

/// The errors of sampled shifts, and the errors that remain after regressing them on predictors. `sampled` [n, r] are shifts of
/// the mean, to which errors.correction has been added; `predictors` [n, q], constant included, q < n; `share` [r] is the
/// variance of each coordinate of an error, relative to their mean; `alike` [n, n] are similarities. Without finite predictors or
/// errors nothing changes.
CommonErrors regressed(const CommonErrors& errors, const Eigen::MatrixXd& sampled, const Eigen::MatrixXd& predictors,
                       const Eigen::VectorXd& share, const Eigen::MatrixXd& alike);

}  // namespace probust
