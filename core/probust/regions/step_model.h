// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probust/graph/graph.h"

// A classifier of decision trees, in a form whose regions can be integrated over: its logits are a constant plus one
// contribution per tree, and every question compares a single element of the point with a threshold.
namespace probust {

/// A threshold of one element. `inclusive`: the threshold itself belongs to the values below it.
struct Cut {
  double at = 0;
  bool inclusive = false;

  bool has_below(double x) const { return x < at || (inclusive && x == at); }
  bool operator==(const Cut&) const = default;
};

/// One question of a tree, whether an element is below a cut, or a leaf.
struct StepNode {
  std::int32_t element = -1;          ///< -1: a leaf
  std::int32_t cut = 0;               ///< index among the element's cuts
  std::int32_t below = 0, above = 0;  ///< the next nodes; both come after this one
  bool missing_is_below = false;      ///< where a NaN goes
  std::int32_t leaf = 0;              ///< the number of the leaf
};

struct StepModel {
  std::int64_t classes = 0;
  std::vector<std::vector<Cut>> cuts;  ///< [elements] in ascending order
  std::vector<StepNode> nodes;
  std::vector<std::int32_t> roots;   ///< one per tree
  std::vector<float> base;           ///< [C]
  std::vector<float> contributions;  ///< [leaves, C]
  /// A bound on the rounding error of a margin in float32. The classifier itself must decide smaller margins.
  double rounding = 0;
};

/// The model of a classifier; empty if there is no graph, if the logits are not a sum over trees, if a tree's feature is not an
/// affine function of a single element, or if there are more than a million nodes.
std::optional<StepModel> step_model(const Graph* classifier);

}  // namespace probust
