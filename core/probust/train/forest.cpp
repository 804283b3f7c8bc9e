// SPDX-License-Identifier: MIT
#include "probust/train/forest.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "probust/base/error.h"
#include "probust/noise/noise.h"
#include "probust/ops/build.h"

namespace probust {
namespace {

constexpr std::uint32_t kBootstrap = 0x2017, kFeatures = 0x2018;  ///< streams of the generator
/// Maximum depth, because the path to a node is a 32-bit number.
constexpr std::int64_t kDeepest = 30;
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 30;

using Which = std::vector<std::int64_t>;  // indices of points
using Counts = std::vector<std::int64_t>;

[[noreturn]] void refuse_forest(const std::string& problem, const std::string& hint, ErrorCode code = ErrorCode::usage) {
  throw Error{code, "the random forest", problem, hint};
}

void check_points(const Tensor& x, const std::vector<std::int64_t>& labels, std::int64_t classes) {
  if (x.shape.size() < 2 || x.shape[0] < 1 || x.size() == 0)
    refuse_forest("needs points [N, ...], not " + to_string(x.shape), "give at least one point of at least one feature");
  if (static_cast<std::int64_t>(labels.size()) != x.shape[0])
    refuse_forest("has " + std::to_string(labels.size()) + " labels for " + std::to_string(x.shape[0]) + " points",
                  "give one label per point");
  if (classes < 1) refuse_forest("has no classes", "give at least one");
  for (const std::int64_t label : labels) {
    if (label < 0 || label >= classes)
      refuse_forest("has the label " + std::to_string(label) + ", which does not exist",
                    "give labels from 0 to " + std::to_string(classes - 1));
  }
  const auto bad = std::find_if_not(x.data.begin(), x.data.end(), [](float value) { return std::isfinite(value); });
  if (bad != x.data.end())
    refuse_forest("contains a non-finite value in point " + std::to_string((bad - x.data.begin()) / (x.size() / x.shape[0])),
                  "remove such points");
}

void check_options(const ForestOptions& options, std::int64_t points, std::int64_t features, std::int64_t classes) {
  if (options.trees < 1) refuse_forest("has no trees", "give at least one");
  if (options.depth < 0 || options.depth > kDeepest)
    refuse_forest("cannot have a depth of " + std::to_string(options.depth), "give 0 to " + std::to_string(kDeepest));
  if (options.features && (*options.features < 1 || *options.features > features))
    refuse_forest("cannot split on " + std::to_string(*options.features) + " features", "give 1 to " + std::to_string(features));
  const double leaves = std::min(static_cast<double>(points), std::ldexp(1.0, static_cast<int>(options.depth)));
  if (static_cast<double>(options.trees) * leaves * static_cast<double>(2 + classes) >= static_cast<double>(kMostNumbers))
    refuse_forest("would be too large", "give fewer or shallower trees", ErrorCode::resources);
}

// A threshold splits the points of a node into those with feature <= threshold and the others.
struct Question {
  std::int64_t feature = -1;  ///< -1 if there is no split
  float threshold = 0;
  double purity = -1;  ///< see purity_of
};

// Quality of a split: the sum of n (1 - Gini impurity) over both parts, where 1 - impurity is the sum of (count / n)². The
// largest is the best.
double purity_of(std::int64_t squares_yes, std::int64_t yes, std::int64_t squares_no, std::int64_t no) {
  return static_cast<double>(squares_yes) / static_cast<double>(yes) + static_cast<double>(squares_no) / static_cast<double>(no);
}

// Midway between two neighbouring values, but below the larger one even after rounding.
float midway(float low, float high) {
  const auto middle = static_cast<float>(0.5 * (static_cast<double>(low) + static_cast<double>(high)));
  return middle >= low && middle < high ? middle : low;
}

// Adds the trees of a forest one by one.
class ForestBuilder {
 public:
  ForestBuilder(const Tensor& x, const std::vector<std::int64_t>& labels, std::int64_t classes, const ForestOptions& options)
      : x_(x), labels_(labels), options_(options), width_(x.size() / x.shape[0]) {
    trees.targets = classes;
    const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(width_)));
    chosen_from_ = options.features.value_or(std::max<std::int64_t>(1, root));
  }

  void add_tree(std::uint32_t tree) {
    tree_ = tree;
    pending_.clear();
    trees.roots.push_back(add_node(points_of_tree(), 1, 0));
    for (std::size_t next = 0; next < pending_.size(); ++next) {
      const Pending at = std::move(pending_[next]);  // growing a node may reallocate pending_
      grow(at);
    }
  }

  Trees trees;

 private:
  // A node with known points that is not split yet.
  struct Pending {
    std::int32_t node;
    Which points;
    std::uint32_t path;  ///< 1 for the root; 2 path and 2 path + 1 for the children of a node
    std::int64_t depth;
  };

  Which points_of_tree() const {
    Which points(labels_.size());
    std::iota(points.begin(), points.end(), 0);
    if (!options_.bootstrap) return points;
    NoiseStream random(options_.seed, tree_, 0, kBootstrap);
    for (std::int64_t& point : points) point = static_cast<std::int64_t>(random.uniform() * static_cast<double>(labels_.size()));
    return points;
  }

  std::int32_t add_node(Which points, std::uint32_t path, std::int64_t depth) {
    const auto node = static_cast<std::int32_t>(trees.nodes.size());
    trees.nodes.emplace_back();
    pending_.push_back({node, std::move(points), path, depth});
    return node;
  }

  void grow(const Pending& at) {
    const Counts counts = counts_of(at.points);
    const bool pure = std::count(counts.begin(), counts.end(), 0) + 1 >= static_cast<std::int64_t>(counts.size());
    const Question question = pure || at.depth == options_.depth ? Question{} : best_question(at, counts);
    if (question.feature < 0) return make_leaf(at.node, counts, at.points.size());
    Which yes, no;
    for (const std::int64_t point : at.points) (value(point, question.feature) <= question.threshold ? yes : no).push_back(point);
    TreeNode node{TreeNode::Mode::less_equal, false, static_cast<std::int32_t>(question.feature), question.threshold};
    node.yes = add_node(std::move(yes), 2 * at.path, at.depth + 1);
    node.no = add_node(std::move(no), 2 * at.path + 1, at.depth + 1);
    trees.nodes[at.node] = node;
  }

  // Stores a weight for every class, so that readers of the exported file do not mistake one class's score for binary scores.
  void make_leaf(std::int32_t node, const Counts& counts, std::size_t points) {
    trees.nodes[node].first = static_cast<std::int32_t>(trees.weights.size());
    trees.nodes[node].count = static_cast<std::int32_t>(counts.size());
    const double whole = static_cast<double>(points) * static_cast<double>(options_.trees);
    for (std::size_t c = 0; c < counts.size(); ++c)
      trees.weights.push_back({static_cast<std::int32_t>(c), static_cast<float>(static_cast<double>(counts[c]) / whole)});
  }

  Question best_question(const Pending& at, const Counts& counts) const {
    Question best;
    std::int64_t left = chosen_from_;
    for (const std::int64_t feature : order_of_features(at.path)) {
      if (left == 0) break;
      const Question question = question_about(feature, at.points, counts);
      if (question.feature < 0) continue;
      --left;
      const bool first = question.purity == best.purity && question.feature < best.feature;
      if (question.purity > best.purity || first) best = question;
    }
    return best;
  }

  // All features, shuffled unless all are tried (Fisher and Yates).
  Which order_of_features(std::uint32_t path) const {
    Which order(static_cast<std::size_t>(width_));
    std::iota(order.begin(), order.end(), 0);
    if (chosen_from_ == width_) return order;
    NoiseStream random(options_.seed, tree_, path, kFeatures);
    for (std::int64_t k = width_ - 1; k > 0; --k)
      std::swap(order[k], order[static_cast<std::int64_t>(random.uniform() * static_cast<double>(k + 1))]);
    return order;
  }

  // The best threshold for a feature. Moves points from one part to the other in ascending order of their values.
  Question question_about(std::int64_t feature, const Which& points, const Counts& counts) const {
    std::vector<std::pair<float, std::int64_t>> sorted;  // value and label
    sorted.reserve(points.size());
    for (const std::int64_t point : points) sorted.emplace_back(value(point, feature), labels_[point]);
    std::sort(sorted.begin(), sorted.end());
    Counts yes(counts.size(), 0), no = counts;
    std::int64_t squares_yes = 0, squares_no = 0;
    for (const std::int64_t count : counts) squares_no += count * count;
    Question best;
    for (std::size_t k = 0; k + 1 < sorted.size(); ++k) {
      const std::int64_t label = sorted[k].second;
      squares_yes += 2 * yes[label]++ + 1;
      squares_no -= 2 * no[label]-- - 1;
      if (!(sorted[k].first < sorted[k + 1].first)) continue;
      const auto moved = static_cast<std::int64_t>(k) + 1;
      const double purity = purity_of(squares_yes, moved, squares_no, static_cast<std::int64_t>(sorted.size()) - moved);
      if (purity > best.purity) best = {feature, midway(sorted[k].first, sorted[k + 1].first), purity};
    }
    return best;
  }

  Counts counts_of(const Which& points) const {
    Counts counts(static_cast<std::size_t>(trees.targets), 0);
    for (const std::int64_t point : points) ++counts[labels_[point]];
    return counts;
  }

  float value(std::int64_t point, std::int64_t feature) const { return x_.data[point * width_ + feature]; }

  const Tensor& x_;
  const std::vector<std::int64_t>& labels_;
  const ForestOptions& options_;
  std::int64_t width_, chosen_from_;
  std::uint32_t tree_ = 0;
  std::vector<Pending> pending_;
};

}  // namespace

Graph random_forest(const Tensor& x, const std::vector<std::int64_t>& labels, std::int64_t classes,
                    const ForestOptions& options) {
  check_points(x, labels, classes);
  const std::int64_t width = x.size() / x.shape[0];
  check_options(options, x.shape[0], width, classes);
  ForestBuilder builder(x, labels, classes, options);
  for (std::int64_t tree = 0; tree < options.trees; ++tree) builder.add_tree(static_cast<std::uint32_t>(tree));
  Graph g;
  const ValueId point = append_input(g, {x.shape.begin() + 1, x.shape.end()}, Extent::example, "x");
  const TreesAttribute trees{std::make_shared<const Trees>(std::move(builder.trees))};
  const ValueId row = append(g, Op::tree_ensemble, {build::reshape(g, point, {1, width})}, trees, "forest");
  g.outputs = {build::reshape(g, row, {classes})};
  check(g);
  return g;
}

Graph decision_tree(const Tensor& x, const std::vector<std::int64_t>& labels, std::int64_t classes, std::int64_t depth) {
  ForestOptions options{.trees = 1, .depth = depth, .bootstrap = false};
  if (x.shape.size() > 1 && x.shape[0] > 0 && x.size() > 0) options.features = x.size() / x.shape[0];
  return random_forest(x, labels, classes, options);
}

}  // namespace probust
