// SPDX-License-Identifier: MIT
// How much the noise shifts the mean logits of each point of a block. Moment propagation computes the shift without samples, but
// only approximately. So the shifts that are sampled are regressed, over the points, on the propagated ones and on the logits.
// What remains varies from point to point by more or less than the sampling errors, and by that much a point's own samples are
// believed: a mixed model with its weights from restricted maximum likelihood (Patterson and Thompson, "Recovery of inter-block
// information when block sizes are unequal", Biometrika 1971).
#pragma once

#include <optional>

#include "probust/base/linear_algebra.h"
#include "probust/estimators/evaluation.h"
#include "probust/estimators/shared_noise.h"

namespace probust {

/// For regressions over points, there must be this many.
inline constexpr std::int64_t kLeastPoints = 32;

/// The moments of the logits under the noise, by moment propagation [N]. Nothing if there are too few points, an operator has no
/// moment rule, or the noise differs from point to point.
using Propagated = std::optional<std::vector<LogitMoments>>;
Propagated propagated(Evaluation& evaluation, const Noise& noise);
/// Whether there may be any, without asking the model.
bool may_propagate(const Points& points, const Noise& noise);

/// How many pairs that many forwards pay for besides the propagation, at least two.
std::int64_t pairs_beside_propagation(std::int64_t forwards);
void count_propagation(const Propagated& propagated, std::vector<Estimate>& estimates);

/// The errors of sampled shifts, and what remains of them if they are regressed on predictors. `sampled` [n, r] are shifts of the
/// mean, to which errors.correction has been added; `predictors` [n, q], constant included, q < n; `share` [r] is the variance
/// of each coordinate of an error, relative to their mean; `alike` [n, n] are similarities. Without finite predictors or errors
/// nothing changes.
CommonErrors regressed(const CommonErrors& errors, const Eigen::MatrixXd& sampled, const Eigen::MatrixXd& predictors,
                       const Eigen::VectorXd& share, const Eigen::MatrixXd& alike);

}  // namespace probust
