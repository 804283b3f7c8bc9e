// SPDX-License-Identifier: MIT
// Trees as the lists of a TreeEnsembleRegressor: one entry per node, tree after tree, each tree beginning with its root.
// lower_trees.cpp reads them.
#include "probust/onnx/node_attributes.h"

namespace probust::onnx {
namespace {

using Mode = TreeNode::Mode;

std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::leaf:
      return "LEAF";
    case Mode::less_equal:
      return "BRANCH_LEQ";
    case Mode::less:
      return "BRANCH_LT";
    case Mode::greater_equal:
      return "BRANCH_GTE";
    case Mode::greater:
      return "BRANCH_GT";
    case Mode::equal:
      return "BRANCH_EQ";
    case Mode::not_equal:
      return "BRANCH_NEQ";
    case Mode::member:
      break;  // TreeEnsembleRegressor has no membership tests
  }
  return "";
}

std::string_view name_of(Trees::Aggregate aggregate) {
  if (aggregate == Trees::Aggregate::sum) return "SUM";
  return aggregate == Trees::Aggregate::least ? "MIN" : "MAX";
}

class TreeLists {
 public:
  explicit TreeLists(const Trees& trees) : trees_(trees), seen_(trees.nodes.size(), false) {}

  // Adds the nodes of a tree. Returns false if the tree cannot be written.
  bool add_tree(std::int64_t tree) {
    std::vector<std::int32_t> order = {trees_.roots[static_cast<std::size_t>(tree)]};
    for (std::size_t at = 0; at < order.size(); ++at) {
      const auto position = static_cast<std::size_t>(order[at]);
      const TreeNode& node = trees_.nodes[position];
      if (seen_[position] || node.mode == Mode::member) return false;
      seen_[position] = true;
      add_node(tree, static_cast<std::int64_t>(at), node, static_cast<std::int64_t>(order.size()));
      if (node.mode != Mode::leaf) order.insert(order.end(), {node.yes, node.no});
    }
    return true;
  }

  NodeAttributes attributes() const {
    NodeAttributes all;
    all.add("n_targets", trees_.targets).add("aggregate_function", name_of(trees_.aggregate));
    all.add("nodes_treeids", tree_).add("nodes_nodeids", node_).add("nodes_modes", modes_);
    all.add("nodes_featureids", feature_).add("nodes_values", values_).add("nodes_missing_value_tracks_true", missing_);
    all.add("nodes_truenodeids", yes_).add("nodes_falsenodeids", no_);
    all.add("target_treeids", target_tree_).add("target_nodeids", target_node_);
    all.add("target_ids", target_).add("target_weights", weights_);
    return all;
  }

 private:
  // Adds a node whose children have the numbers `children` and `children` + 1.
  void add_node(std::int64_t tree, std::int64_t number, const TreeNode& node, std::int64_t children) {
    const bool leaf = node.mode == Mode::leaf;
    tree_.push_back(tree);
    node_.push_back(number);
    modes_.push_back(name_of(node.mode));
    feature_.push_back(leaf ? 0 : node.feature);
    values_.push_back(leaf ? 0 : node.threshold);
    missing_.push_back(node.missing_is_yes ? 1 : 0);
    yes_.push_back(leaf ? 0 : children);
    no_.push_back(leaf ? 0 : children + 1);
    for (std::int32_t k = 0; leaf && k < node.count; ++k) {
      const TreeWeight& weight = trees_.weights[static_cast<std::size_t>(node.first + k)];
      target_tree_.push_back(tree);
      target_node_.push_back(number);
      target_.push_back(weight.target);
      weights_.push_back(weight.weight);
    }
  }

  const Trees& trees_;
  std::vector<bool> seen_;
  std::vector<std::int64_t> tree_, node_, feature_, missing_, yes_, no_, target_tree_, target_node_, target_;
  std::vector<float> values_, weights_;
  std::vector<std::string_view> modes_;
};

}  // namespace

std::optional<NodeAttributes> tree_attributes(const Trees& trees) {
  TreeLists lists(trees);
  for (std::size_t tree = 0; tree < trees.roots.size(); ++tree) {
    if (!lists.add_tree(static_cast<std::int64_t>(tree))) return std::nullopt;
  }
  return lists.attributes();
}

}  // namespace probust::onnx
