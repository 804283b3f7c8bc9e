// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <functional>
#include <memory>
#include <optional>

#include "probust/exec/executor.h"

// Classifiers of very many classes end in a linear layer of few inputs, f(x) = W h(x) + b with h(x) in R^w. Their margin
// gradients are combinations of w gradients, those of h: u_i = (W_t - W_i) dh/dx. So w backward passes serve any number of
// classes, and so does a Gram matrix G [w, w] of these: that of the margins is D G Dᵀ with the rows D_i = W_t - W_i.
namespace probust {

struct SplitClassifier {
  /// The layers before the last one, as a classifier of w + 1 classes whose margins of class 0 are h_1, ..., h_w: its outputs are
  /// 0, -h_1, ..., -h_w. What an executor says of its margins it says of h.
  Graph features;
  std::shared_ptr<const LastLayer> last;
};

/// The classifier in two parts; nothing where it does not end in a linear layer, or where that would save nothing: w is not less
/// than the number of rivals, or these are at most kManyRivals.
std::optional<SplitClassifier> split_last_layer(const Graph& classifier);

/// |u_i|² by the noise's covariance at unit scale for the margins of `target`, from the features' Gram matrix: [C - 1].
Eigen::VectorXd margin_variances(const LastLayer& last, const Eigen::MatrixXd& gram, std::int64_t target,
                                 const std::atomic<bool>* stop);

/// Points with class 0 as their target, as SplitClassifier::features takes them.
Points for_features(const Points& points);

/// Linearizations of the margins from those of the features. Algebra ends with Error{usage, "interrupted"} once `stop` is set.
std::vector<Linearization> through_last_layer(const std::shared_ptr<const LastLayer>& last, std::vector<Linearization> features,
                                              const Points& points, const std::atomic<bool>* stop);

}  // namespace probust
