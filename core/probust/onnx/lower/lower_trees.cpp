// SPDX-License-Identifier: MIT
// The tree ensembles of ai.onnx.ml: two older operators with one row of attributes per node, and TreeEnsemble, which stores inner
// nodes (questions) and leaves separately. All of them become one core operator; the final transformation becomes nodes.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "probust/base/error.h"
#include "probust/onnx/lower/lower_ml.h"
#include "probust/ops/build.h"

namespace probust::onnx {
namespace {

using Integers = std::vector<std::int64_t>;
using Mode = TreeNode::Mode;

// A node as stored in the file: the positions of its children in the file, and its weights.
struct FileNode {
  TreeNode node;
  std::int64_t yes = -1, no = -1;
  std::vector<TreeWeight> weights;
};

// Stores the nodes of each tree contiguously, parents first. Rejects missing nodes and nodes with several parents, because the
// nodes then do not form a tree.
class TreeBuilder {
 public:
  TreeBuilder(Lowering& l, std::vector<FileNode> file) : l_(l), file_(std::move(file)), seen_(file_.size(), false) {}

  void add_tree(std::int64_t root) {
    trees.roots.push_back(static_cast<std::int32_t>(trees.nodes.size()));
    place(root);
    for (std::size_t next = static_cast<std::size_t>(trees.roots.back()); next < trees.nodes.size(); ++next) {
      if (trees.nodes[next].mode == Mode::leaf) continue;
      const FileNode& source = file_[static_cast<std::size_t>(positions_[next])];
      const std::int32_t yes = place(source.yes), no = place(source.no);
      trees.nodes[next].yes = yes;
      trees.nodes[next].no = no;
    }
  }

  bool all_reached() const { return std::find(seen_.begin(), seen_.end(), false) == seen_.end(); }

  Trees trees;

 private:
  std::int32_t place(std::int64_t position) {
    if (position < 0 || position >= static_cast<std::int64_t>(file_.size()))
      l_.malformed("has a tree node whose child does not exist");
    const auto at = static_cast<std::size_t>(position);
    if (seen_[at]) l_.malformed("has a tree node with two parents");
    seen_[at] = true;
    TreeNode node = file_[at].node;
    if (node.mode == Mode::leaf) {
      node.first = static_cast<std::int32_t>(trees.weights.size());
      node.count = static_cast<std::int32_t>(file_[at].weights.size());
      trees.weights.insert(trees.weights.end(), file_[at].weights.begin(), file_[at].weights.end());
    }
    trees.nodes.push_back(node);
    positions_.push_back(position);
    return static_cast<std::int32_t>(trees.nodes.size()) - 1;
  }

  Lowering& l_;
  std::vector<FileNode> file_;
  std::vector<bool> seen_;
  std::vector<std::int64_t> positions_;
};

Mode mode_named(Lowering& l, const std::string& name) {
  static const std::map<std::string, Mode> modes = {{"LEAF", Mode::leaf},           {"BRANCH_LEQ", Mode::less_equal},
                                                    {"BRANCH_LT", Mode::less},      {"BRANCH_GTE", Mode::greater_equal},
                                                    {"BRANCH_GT", Mode::greater},   {"BRANCH_EQ", Mode::equal},
                                                    {"BRANCH_NEQ", Mode::not_equal}};
  const auto found = modes.find(name);
  if (found == modes.end()) l.malformed("has an unknown node mode '" + name + "'");
  return found->second;
}

std::int32_t small(Lowering& l, std::int64_t value) {
  if (value < 0 || value >= (std::int64_t{1} << 31))
    l.malformed("has a node, feature or target number of " + std::to_string(value) + ", which is outside 0..2147483647");
  return static_cast<std::int32_t>(value);
}

template <class T>
void require_count(Lowering& l, const std::vector<T>& list, std::size_t count, const std::string& name) {
  if (list.size() != count)
    l.malformed("has " + name + " with " + std::to_string(list.size()) + " entries instead of " + std::to_string(count));
}

std::vector<float> tensor_attribute(Lowering& l, const std::string& name) {
  const auto found = l.node.attributes.find(name);
  if (found == l.node.attributes.end() || !found->second.has_tensor) return {};
  return found->second.t.values->data;
}

// A list of numbers. Float64 models store it as a tensor, under the name of the float32 attribute plus "_as_tensor".
std::vector<float> numbers_of(Lowering& l, const std::string& name) {
  return l.has_attribute(name + "_as_tensor") ? tensor_attribute(l, name + "_as_tensor")
                                              : l.attribute(name, std::vector<float>{});
}

// Reads one row of attributes per node. A tree id and a node id identify a node. `kind` is "class" or "target".
Trees read_rows(Lowering& l, const std::string& kind, std::int64_t targets) {
  const auto ints = [&](const std::string& name) { return l.attribute(name, Integers{}); };
  const Integers tree = ints("nodes_treeids"), id = ints("nodes_nodeids"), yes = ints("nodes_truenodeids"),
                 no = ints("nodes_falsenodeids"), feature = ints("nodes_featureids"),
                 missing = ints("nodes_missing_value_tracks_true");
  const auto modes = l.attribute("nodes_modes", std::vector<std::string>{});
  const auto values = numbers_of(l, "nodes_values");
  const std::size_t count = tree.size();
  for (const Integers* list : {&id, &yes, &no, &feature}) require_count(l, *list, count, "a list of nodes");
  require_count(l, modes, count, "nodes_modes");
  require_count(l, values, count, "nodes_values");
  l.spend(static_cast<std::int64_t>(32 * count));
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> positions;
  for (std::size_t i = 0; i < count; ++i) {
    if (!positions.emplace(std::pair(tree[i], id[i]), i).second) l.malformed("has a tree node listed twice");
  }
  const auto find = [&](std::int64_t t, std::int64_t n) {
    const auto at = positions.find({t, n});
    return at == positions.end() ? -1 : at->second;
  };
  std::vector<FileNode> file(count);
  std::vector<bool> child(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    FileNode& n = file[i];
    n.node.mode = mode_named(l, modes[i]);
    if (n.node.mode == Mode::leaf) continue;
    n.node.missing_is_yes = i < missing.size() && missing[i] != 0;
    n.node.feature = small(l, feature[i]);
    n.node.threshold = values[i];
    n.yes = find(tree[i], yes[i]);
    n.no = find(tree[i], no[i]);
    for (const std::int64_t at : {n.yes, n.no}) {
      if (at >= 0) child[static_cast<std::size_t>(at)] = true;
    }
  }
  const Integers weight_tree = ints(kind + "_treeids"), weight_node = ints(kind + "_nodeids"), ids = ints(kind + "_ids");
  const auto weights = numbers_of(l, kind + "_weights");
  for (const Integers* list : {&weight_tree, &weight_node, &ids}) require_count(l, *list, weights.size(), "a list of weights");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::int64_t at = find(weight_tree[i], weight_node[i]);
    if (at < 0) l.malformed("has a weight for a tree node that does not exist");
    file[static_cast<std::size_t>(at)].weights.push_back({small(l, ids[i]), weights[i]});
  }
  TreeBuilder builder(l, std::move(file));
  for (std::size_t i = 0; i < count; ++i) {
    if (!child[i]) builder.add_tree(static_cast<std::int64_t>(i));
  }
  if (!builder.all_reached()) l.malformed("has tree nodes that cannot be reached from a root");
  builder.trees.targets = targets;
  return std::move(builder.trees);
}

ValueId ensemble(Lowering& l, Trees trees) {
  return l.add_node(Op::tree_ensemble, {rows_of(l)}, TreesAttribute{std::make_shared<const Trees>(std::move(trees))});
}

ValueId plus_base(Lowering& l, ValueId scores) {
  const auto base = numbers_of(l, "base_values");
  if (base.empty()) return scores;
  const auto count = static_cast<std::int64_t>(base.size());
  if (count != 1 && count != l.graph[scores].shape[1])
    l.malformed("has " + std::to_string(count) + " base_values for " + std::to_string(l.graph[scores].shape[1]) + " outputs");
  return l.add_node(Op::add, {scores, l.tensor(Tensor({count}, base))});
}

// Expands the score of one of two classes to scores of both. If all weights are positive, scores are probabilities; otherwise
// they are margins.
ValueId scores_of_two(Lowering& l, ValueId score, bool probabilities) {
  const ValueId zero = l.add_node(Op::multiply, {score, l.scalar(0)});
  const auto pair = [&](ValueId first) { return l.add_node(Op::concat, {first, score}, AxisAttribute{1}); };
  if (probabilities) return pair(l.add_node(Op::subtract, {l.scalar(1), score}));
  if (l.attribute("post_transform", std::string("NONE")) == "LOGISTIC")
    return l.add_node(Op::softmax, {pair(zero)}, AxisAttribute{1});
  return pair(l.add_node(Op::negate, {score}));
}

void tree_ensemble_classifier(Lowering& l) {
  const std::int64_t classes = class_count(l);
  Integers ids = l.attribute("class_ids", Integers{});
  std::sort(ids.begin(), ids.end());
  const bool two_from_one = classes == 2 && !ids.empty() && ids.front() == ids.back();
  Trees trees = read_rows(l, "class", two_from_one ? 1 : classes);
  if (two_from_one) {
    for (TreeWeight& weight : trees.weights) weight.target = 0;
    const bool probabilities =
        std::all_of(trees.weights.begin(), trees.weights.end(), [](const TreeWeight& w) { return w.weight >= 0; });
    return set_classes(l, scores_of_two(l, plus_base(l, ensemble(l, std::move(trees))), probabilities));
  }
  set_classes(l,
              post_transform(l, plus_base(l, ensemble(l, std::move(trees))), l.attribute("post_transform", std::string("NONE"))));
}

ValueId averaged(Lowering& l, ValueId sums, std::size_t trees) {
  return l.add_node(Op::multiply, {sums, l.scalar(1 / static_cast<float>(std::max<std::size_t>(1, trees)))});
}

void tree_ensemble_regressor(Lowering& l) {
  Trees trees = read_rows(l, "target", small(l, l.attribute("n_targets", std::int64_t{1})));
  const std::string aggregate = l.attribute("aggregate_function", std::string("SUM"));
  if (aggregate == "MIN") trees.aggregate = Trees::Aggregate::least;
  if (aggregate == "MAX") trees.aggregate = Trees::Aggregate::largest;
  const std::size_t count = trees.roots.size();
  ValueId y = ensemble(l, std::move(trees));
  if (aggregate == "AVERAGE") y = averaged(l, y, count);
  l.set(0, post_transform(l, plus_base(l, y), l.attribute("post_transform", std::string("NONE"))));
}

// The members tested by each membership question: concatenated lists, each terminated by NaN.
void read_members(Lowering& l, std::vector<FileNode>& file, Trees& trees) {
  const std::vector<float> values = tensor_attribute(l, "membership_values");
  std::size_t next = 0;
  for (FileNode& n : file) {
    if (n.node.mode != Mode::member) continue;
    n.node.first = static_cast<std::int32_t>(trees.members.size());
    while (next < values.size() && !std::isnan(values[next])) trees.members.push_back(values[next++]);
    n.node.count = static_cast<std::int32_t>(trees.members.size()) - n.node.first;
    ++next;
  }
}

// The questions, followed by the leaves. A flag for each child tells whether its number counts questions or leaves.
std::vector<FileNode> read_questions_and_leaves(Lowering& l) {
  constexpr Mode kModes[] = {Mode::less_equal, Mode::less,      Mode::greater_equal, Mode::greater,
                             Mode::equal,      Mode::not_equal, Mode::member};
  const auto ints = [&](const std::string& name) { return l.attribute(name, Integers{}); };
  const Integers feature = ints("nodes_featureids"), yes = ints("nodes_truenodeids"), no = ints("nodes_falsenodeids"),
                 yes_is_leaf = ints("nodes_trueleafs"), no_is_leaf = ints("nodes_falseleafs"),
                 missing = ints("nodes_missing_value_tracks_true"), targets = ints("leaf_targetids");
  const std::vector<float> modes = tensor_attribute(l, "nodes_modes"), splits = tensor_attribute(l, "nodes_splits"),
                           weights = tensor_attribute(l, "leaf_weights");
  const std::size_t count = feature.size();
  for (const Integers* list : {&yes, &no, &yes_is_leaf, &no_is_leaf}) require_count(l, *list, count, "a list of nodes");
  require_count(l, modes, count, "nodes_modes");
  require_count(l, splits, count, "nodes_splits");
  require_count(l, weights, targets.size(), "leaf_weights");
  const auto first_leaf = static_cast<std::int64_t>(count);
  std::vector<FileNode> file(count + targets.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6)) l.malformed("has a tree node with an unknown mode, " + std::to_string(modes[i]));
    const bool tracks = i < missing.size() && missing[i] != 0;
    file[i].node = {kModes[static_cast<std::size_t>(modes[i])], tracks, small(l, feature[i]), splits[i]};
    file[i].yes = small(l, yes[i]) + (yes_is_leaf[i] != 0 ? first_leaf : 0);
    file[i].no = small(l, no[i]) + (no_is_leaf[i] != 0 ? first_leaf : 0);
  }
  for (std::size_t i = 0; i < targets.size(); ++i) file[count + i].weights = {{small(l, targets[i]), weights[i]}};
  return file;
}

void tree_ensemble(Lowering& l) {
  std::vector<FileNode> file = read_questions_and_leaves(l);
  l.spend(static_cast<std::int64_t>(32 * file.size()));
  Trees lists;
  read_members(l, file, lists);
  TreeBuilder builder(l, std::move(file));
  // A root that is its own child and has both flags set is a tree with one leaf.
  for (const std::int64_t root : l.attribute("tree_roots", Integers{})) builder.add_tree(root);
  builder.trees.members = std::move(lists.members);
  builder.trees.targets = small(l, l.attribute("n_targets", std::int64_t{1}));
  const std::int64_t aggregate = l.attribute("aggregate_function", std::int64_t{1});
  if (aggregate == 2) builder.trees.aggregate = Trees::Aggregate::least;
  if (aggregate == 3) builder.trees.aggregate = Trees::Aggregate::largest;
  const std::size_t count = builder.trees.roots.size();
  ValueId y = ensemble(l, std::move(builder.trees));
  if (aggregate == 0) y = averaged(l, y, count);
  constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const std::int64_t transform = l.attribute("post_transform", std::int64_t{0});
  if (transform < 0 || transform > 4) l.malformed("has an unknown post_transform " + std::to_string(transform));
  l.set(0, post_transform(l, y, kTransforms[transform]));
}

constexpr OnnxOperator kTreeOperators[] = {
    {"TreeEnsemble", tree_ensemble, false, 5},
    {"TreeEnsembleClassifier", tree_ensemble_classifier, false},
    {"TreeEnsembleRegressor", tree_ensemble_regressor, false},
};

}  // namespace

std::span<const OnnxOperator> tree_operators() { return kTreeOperators; }

}  // namespace probust::onnx
