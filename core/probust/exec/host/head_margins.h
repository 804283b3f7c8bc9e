// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/base/stop.h"
#include "probust/exec/margins.h"
#include "probust/exec/points.h"
#include "probust/passes/head_split.h"

// Margins of classifiers whose last layer is split off (passes/head_split.h), computed from the results for that layer's inputs,
// the features.
namespace probust {

/// [C - 1] The variances of the margins of `target` under noise of unit scale, from the features' Gram matrix G: the diagonal
/// of D G Dᵀ.
Eigen::VectorXd margin_variances(const LastLayer& last, const Eigen::MatrixXd& gram, std::int64_t target, const StopToken* stop);

/// `points` with target 0, for HeadSplit::features.
Points for_features(const Points& points);

/// The linearizations of the margins, from those of the features. Throws Error{interrupted} once `stop` is set.
std::vector<Linearization> through_last_layer(const std::shared_ptr<const LastLayer>& last, std::vector<Linearization> features,
                                              const Points& points, const StopToken* stop);

}  // namespace probust
