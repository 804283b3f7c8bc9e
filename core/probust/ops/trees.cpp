// SPDX-License-Identifier: MIT
// Decision trees: each row of a [rows, features] follows every tree to a leaf, whose weights are added to targets. Piecewise
// constant, so the derivative is zero almost everywhere.
#include <algorithm>
#include <cmath>

#include "probust/ops/families.h"

namespace probust::ops {
namespace {

using Mode = TreeNode::Mode;

const Trees& trees_of(const Attributes& attributes) { return *std::get<TreesAttribute>(attributes).trees; }

// Children come after their parents, so following them always ends.
void require_node(const Trees& trees, std::size_t i) {
  const TreeNode& node = trees.nodes[i];
  const auto behind = [&](std::int32_t child) {
    return child > static_cast<std::int32_t>(i) && child < static_cast<std::int32_t>(trees.nodes.size());
  };
  const bool leaf = node.mode == Mode::leaf, member = node.mode == Mode::member;
  const auto list = static_cast<std::int32_t>(leaf ? trees.weights.size() : trees.members.size());
  if ((leaf || member) && (node.first < 0 || node.count < 0 || node.first > list - node.count))
    misfit("tree_ensemble",
           std::string("has a node that refers to entries beyond the end of its list of ") + (leaf ? "weights" : "members"));
  if (!leaf && (!behind(node.yes) || !behind(node.no)))
    misfit("tree_ensemble", "has a child node that does not come after its parent");
}

Shape infer_trees(const Attributes& attributes, std::span<const Shape> in) {
  const Trees& trees = trees_of(attributes);
  if (in[0].size() != 2) misfit("tree_ensemble", "needs [rows, features], not " + to_string(in[0]));
  for (std::size_t i = 0; i < trees.nodes.size(); ++i) {
    require_node(trees, i);
    const std::int32_t feature = trees.nodes[i].feature;
    if (trees.nodes[i].mode != Mode::leaf && (feature < 0 || feature >= in[0][1]))
      misfit("tree_ensemble", "has a node for feature " + std::to_string(feature) +
                                  ", which does not exist in an input of shape " + to_string(in[0]));
  }
  for (const std::int32_t root : trees.roots) {
    if (root < 0 || root >= static_cast<std::int32_t>(trees.nodes.size()))
      misfit("tree_ensemble", "has a root that does not exist");
  }
  for (const TreeWeight& weight : trees.weights) {
    if (weight.target < 0 || weight.target >= trees.targets) misfit("tree_ensemble", "has a target that does not exist");
  }
  return {in[0][0], trees.targets};
}

bool holds(const Trees& trees, const TreeNode& node, float x) {
  switch (node.mode) {
    case Mode::leaf:
      return true;
    case Mode::less_equal:
      return x <= node.threshold;
    case Mode::less:
      return x < node.threshold;
    case Mode::greater_equal:
      return x >= node.threshold;
    case Mode::greater:
      return x > node.threshold;
    case Mode::equal:
      return x == node.threshold;
    case Mode::not_equal:
      return x != node.threshold;
    case Mode::member: {
      const auto first = trees.members.begin() + node.first;
      return std::find(first, first + node.count, x) != first + node.count;
    }
  }
  return false;
}

const TreeNode& leaf_of(const Trees& trees, std::int32_t root, const float* row) {
  const TreeNode* node = &trees.nodes[root];
  while (node->mode != Mode::leaf) {
    const float x = row[node->feature];
    const bool yes = holds(trees, *node, x) || (node->missing_is_yes && std::isnan(x));
    node = &trees.nodes[yes ? node->yes : node->no];
  }
  return *node;
}

float combine(Trees::Aggregate aggregate, float sum, float weight, bool first) {
  if (aggregate == Trees::Aggregate::sum) return sum + weight;
  if (first) return weight;
  return aggregate == Trees::Aggregate::least ? std::min(sum, weight) : std::max(sum, weight);
}

void eval_trees(const Attributes& attributes, std::span<const Tensor* const> in, Tensor& y) {
  const Trees& trees = trees_of(attributes);
  std::fill(y.data.begin(), y.data.end(), 0.0F);
  for (std::int64_t i = 0; i < y.shape[0]; ++i) {
    const float* row = in[0]->data.data() + i * in[0]->shape[1];
    float* out = y.data.data() + i * trees.targets;
    std::vector<bool> seen(static_cast<std::size_t>(trees.targets), false);
    for (const std::int32_t root : trees.roots) {
      const TreeNode& leaf = leaf_of(trees, root, row);
      for (std::int32_t w = leaf.first; w < leaf.first + leaf.count; ++w) {
        const auto& [target, weight] = trees.weights[w];
        out[target] = combine(trees.aggregate, out[target], weight, !seen[target]);
        seen[target] = true;
      }
    }
  }
}

// The number of operations: about one comparison per level of each tree.
double flops_trees(const Attributes& attributes, std::span<const Shape>, const Shape& y) {
  const Trees& trees = trees_of(attributes);
  const double per_tree = static_cast<double>(trees.nodes.size()) / std::max<double>(1, static_cast<double>(trees.roots.size()));
  return static_cast<double>(y[0] * static_cast<std::int64_t>(trees.roots.size())) * std::log2(per_tree + 1);
}

constexpr OpDefinition kTreesFamily[] = {
    {Op::tree_ensemble, "tree_ensemble", "y[i, t] = weights for t of the leaves that row i of a falls into, one per tree", 1, 1,
     infer_trees, eval_trees, vjp_zero, flops_trees},
};

}  // namespace

std::span<const OpDefinition> trees_family() { return kTreesFamily; }

}  // namespace probust::ops
