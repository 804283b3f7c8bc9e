// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "probust/base/linear_algebra.h"
#include "probust/exec/executor.h"

// Classifiers with very many classes often end in a linear layer of few inputs, f(x) = W h(x) + b with h(x) in R^w. Their margin
// gradients are combinations of the w gradients of h: u_i = (W_t - W_i) dh/dx. So w backward passes are enough for any number of
// classes, and so is their Gram matrix G [w, w]: that of the margins is D G Dᵀ with rows D_i = W_t - W_i.
namespace probust {

struct SplitClassifier {
  /// The layers before the last one, as a classifier with outputs 0, -h_1, ..., -h_w. Its margins for target 0 are h_1, ..., h_w,
  /// so an executor's results for these margins are results for h.
  Graph features;
  std::shared_ptr<const LastLayer> last;
};

/// Splits off the last layer. Nothing if it is not linear, or if the split would save nothing: w is at least the number of
/// rivals, or there are at most kManyRivals.
std::optional<SplitClassifier> split_last_layer(const Graph& classifier);

/// [C - 1] The variances of the margins of `target` under noise of unit scale, from the features' Gram matrix: the diagonal of
/// D G Dᵀ.
Eigen::VectorXd margin_variances(const LastLayer& last, const Eigen::MatrixXd& gram, std::int64_t target, const StopToken* stop);

/// The same points with target 0, for SplitClassifier::features.
Points for_features(const Points& points);

/// Linearizations of the margins from those of the features. Throws Error{interrupted} once `stop` is set.
std::vector<Linearization> through_last_layer(const std::shared_ptr<const LastLayer>& last, std::vector<Linearization> features,
                                              const Points& points, const StopToken* stop);

}  // namespace probust
