// SPDX-License-Identifier: MIT
//
// Decision trees and random forests for classification: L. Breiman, J. Friedman, R. Olshen and C. Stone, "Classification and
// regression trees" (1984); L. Breiman, "Random forests", Machine Learning 45 (2001).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probust/graph/graph.h"

namespace probust {

struct ForestOptions {
  std::int64_t trees = 10;
  std::int64_t depth = 3;  ///< maximum depth of a tree; 0: every tree is a single leaf
  /// Number of features among which a split is chosen, drawn for every node. Features with a single value in the node do not
  /// count. By default, the square root of the number of features, rounded down.
  std::optional<std::int64_t> features{};
  bool bootstrap = true;  ///< whether each tree is trained on N points drawn with replacement; otherwise on all points
  std::uint64_t seed = 0;
};

/// A random forest trained on points x [N, point...] with labels 0 .. classes - 1, as a classifier [point...] -> [classes] whose
/// outputs are probabilities: the mean over trees of the label frequencies in the leaf that a point falls into. No softmax
/// follows: the probabilities serve as logits.
///
/// A split is "feature <= threshold", with the threshold midway between two neighbouring values. The split with the smallest Gini
/// impurity is used; on a tie, the first feature and then the smallest threshold, even if the impurity does not decrease, as in
/// the first split of XOR. A node is a leaf if all its points have the same label, or if no feature has two values. When the
/// classifier runs, a NaN is not <= any threshold.
///
/// Deterministic: draws are keyed by seed, tree and node. Throws Error{usage} if sizes, labels or options do not fit or a value
/// is not finite, Error{resources} if the forest might have 2^30 numbers or more.
Graph random_forest(const Tensor& x, const std::vector<std::int64_t>& labels, std::int64_t classes,
                    const ForestOptions& options = {});

/// One tree that chooses from all features and is trained on all points.
Graph decision_tree(const Tensor& x, const std::vector<std::int64_t>& labels, std::int64_t classes, std::int64_t depth);

}  // namespace probust
