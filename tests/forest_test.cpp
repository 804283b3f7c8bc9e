// SPDX-License-Identifier: MIT
// Decision trees and random forests: splits found by hand, defined results if no split is good, and files.
#include "probust/train/forest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "probust/exec/executor.h"
#include "probust/onnx/export.h"
#include "probust/onnx/import.h"
#include "probust/ops/build.h"
#include "support/evaluate.h"
#include "support/refusal.h"

namespace probust {
namespace {

using test::expect_refusal;
using Labels = std::vector<std::int64_t>;
using Mode = TreeNode::Mode;

const Trees& trees_in(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op == Op::tree_ensemble) return *std::get<TreesAttribute>(node.attributes).trees;
  }
  throw Error{ErrorCode::internal, "test", "has no trees", ""};
}

Tensor probabilities(const Graph& graph, const Tensor& x) { return make_executor("cpu", graph, {}).value()->logits(x).value(); }

double accuracy(const Graph& graph, const Tensor& x, const Labels& labels) {
  const Tensor p = probabilities(graph, x);
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < x.shape[0]; ++i) right += argmax(p.row(i)) == labels[i] ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(x.shape[0]);
}

// Three overlapping clouds in four dimensions, as in Iris.
struct Flowers {
  Tensor x;
  Labels labels;
};
Flowers flowers(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Flowers data{Tensor({count, 4}), {}};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t label = i % 3;
    for (std::int64_t e = 0; e < 4; ++e)
      data.x.row(i)[e] = normal(random) + 2.5F * static_cast<float>(label) * static_cast<float>(e % 2);
    data.labels.push_back(label);
  }
  return data;
}

TEST(Forest, TheBestSplitOfASmallTable) {
  // n (1 - impurity), summed over both parts, for a split at 1.5: 3.5, at 2.5: 2.67, at 3.5: 3.67, at 4.5: 3.
  const Tensor x({5, 1}, {5, 1, 4, 2, 3});
  const Graph tree = decision_tree(x, {1, 0, 1, 1, 0}, 2, 1);
  const Trees& trees = trees_in(tree);
  ASSERT_EQ(trees.nodes.size(), 3U);
  EXPECT_EQ(trees.nodes[0].mode, Mode::less_equal);
  EXPECT_EQ(trees.nodes[0].threshold, 3.5F);
  const Tensor p = probabilities(tree, Tensor({2, 1}, {3.5F, 3.6F}));
  EXPECT_NEAR(p.row(0)[0], 2.0 / 3, 1e-7);
  EXPECT_NEAR(p.row(0)[1], 1.0 / 3, 1e-7);
  EXPECT_EQ(p.row(1)[0], 0);
  EXPECT_EQ(p.row(1)[1], 1);
}

TEST(Forest, OnATieTheFirstFeatureAndTheSmallestThreshold) {
  const Graph same = decision_tree(Tensor({4, 2}, {1, 1, 2, 2, 3, 3, 4, 4}), {0, 0, 1, 1}, 2, 3);
  EXPECT_EQ(trees_in(same).nodes[0].feature, 0);
  const Graph symmetric = decision_tree(Tensor({3, 1}, {1, 2, 3}), {0, 1, 0}, 2, 1);
  EXPECT_EQ(trees_in(symmetric).nodes[0].threshold, 1.5F);
  // Features are drawn in any order; if several are equally good, the first one is used.
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Graph one = random_forest(Tensor({4, 3}, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}), {0, 0, 1, 1}, 2,
                                    {.trees = 1, .features = 2, .bootstrap = false, .seed = seed});
    EXPECT_NE(trees_in(one).nodes[0].feature, 2);
  }
}

TEST(Forest, AUselessSplitMayHelpLater) {
  const Tensor x({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  const Labels labels = {0, 1, 1, 0};
  EXPECT_EQ(accuracy(decision_tree(x, labels, 2, 2), x, labels), 1);
  EXPECT_EQ(trees_in(decision_tree(x, labels, 2, 5)).nodes.size(), 7U);  // pure leaves are not split
}

TEST(Forest, NeighbouringNumbersAreSplit) {
  const float below = 0.1F, above = std::nextafter(below, 1.0F);
  const Tensor x({2, 1}, {below, above});
  EXPECT_EQ(accuracy(decision_tree(x, {1, 0}, 2, 1), x, {1, 0}), 1);
  const Tensor large({2, 1}, {-std::numeric_limits<float>::max(), std::numeric_limits<float>::max()});
  EXPECT_EQ(accuracy(decision_tree(large, {1, 0}, 2, 1), large, {1, 0}), 1);
}

TEST(Forest, WithoutASplitATreeIsALeaf) {
  const Tensor constant({4, 2}, {7, 8, 7, 8, 7, 8, 7, 8});
  const Tensor p = probabilities(decision_tree(constant, {0, 1, 1, 1}, 2, 3), constant);
  EXPECT_EQ(p.row(2)[0], 0.25F);
  EXPECT_EQ(p.row(2)[1], 0.75F);
  const Tensor x({2, 1}, {1, 2});
  EXPECT_EQ(trees_in(decision_tree(x, {0, 1}, 2, 0)).nodes.size(), 1U);
  EXPECT_EQ(trees_in(decision_tree(x, {2, 2}, 3, 3)).nodes.size(), 1U);
  EXPECT_EQ(probabilities(decision_tree(x, {0, 0}, 1, 3), x).data, std::vector<float>({1, 1}));
}

TEST(Forest, ConstantFeaturesDoNotCount) {
  Tensor x({6, 9});
  for (std::int64_t i = 0; i < 6; ++i) x.row(i)[4] = static_cast<float>(i);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Graph forest = random_forest(x, {0, 0, 0, 1, 1, 1}, 2, {.trees = 1, .features = 1, .bootstrap = false, .seed = seed});
    EXPECT_EQ(trees_in(forest).nodes[0].feature, 4);
  }
}

TEST(Forest, DepthIsLimited) {
  const Flowers data = flowers(200, 1);
  for (const std::int64_t depth : {1, 2, 3}) {
    const Graph forest = random_forest(data.x, data.labels, 3, {.trees = 4, .depth = depth});
    const Trees& trees = trees_in(forest);
    std::vector<std::int64_t> depths(trees.nodes.size(), 0);
    std::int64_t deepest = 0;
    for (std::size_t i = 0; i < trees.nodes.size(); ++i) {
      const TreeNode& node = trees.nodes[i];
      if (node.mode != Mode::leaf) depths[node.yes] = depths[node.no] = depths[i] + 1;
      deepest = std::max(deepest, depths[i]);
    }
    EXPECT_EQ(deepest, depth);
  }
}

TEST(Forest, OutputsAreProbabilities) {
  const Flowers data = flowers(90, 2);
  const Tensor p = probabilities(random_forest(data.x, data.labels, 3), data.x);
  for (std::int64_t i = 0; i < 90; ++i) {
    float sum = 0;
    for (const float each : p.row(i)) {
      EXPECT_GE(each, 0);
      sum += each;
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

TEST(Forest, ItGeneralises) {
  const Flowers data = flowers(300, 3), others = flowers(600, 4);
  const double one = accuracy(decision_tree(data.x, data.labels, 3, 1), others.x, others.labels);
  const double forest = accuracy(random_forest(data.x, data.labels, 3, {.trees = 20, .depth = 4}), others.x, others.labels);
  EXPECT_LT(one, 0.7);  // one split cannot separate three classes
  EXPECT_GT(forest, 0.9);
}

std::string exported(const Graph& graph) { return export_onnx_with_trees(graph, "forest").value(); }

TEST(Forest, TheSameSeedGivesTheSameForest) {
  const Flowers data = flowers(60, 5);
  const auto forest = [&](std::uint64_t seed) {
    return exported(random_forest(data.x, data.labels, 3, {.trees = 3, .seed = seed}));
  };
  EXPECT_EQ(forest(1), forest(1));
  EXPECT_NE(forest(1), forest(2));
}

TEST(Forest, ATreeDoesNotDependOnTheOthers) {
  const Flowers data = flowers(60, 5);
  const Graph few = random_forest(data.x, data.labels, 3, {.trees = 2}),
              many = random_forest(data.x, data.labels, 3, {.trees = 5});
  const Trees &a = trees_in(few), &b = trees_in(many);
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    EXPECT_EQ(a.nodes[i].feature, b.nodes[i].feature);
    EXPECT_EQ(a.nodes[i].threshold, b.nodes[i].threshold);
  }
  std::set<float> thresholds;  // trees are trained on different points
  for (const std::int32_t root : b.roots) thresholds.insert(b.nodes[root].threshold);
  EXPECT_GT(thresholds.size(), 1U);
}

TEST(Forest, NanIsNotBelowAThreshold) {
  const Tensor x({4, 1}, {1, 2, 3, 4});
  const Graph tree = decision_tree(x, {0, 0, 1, 1}, 2, 1);
  EXPECT_EQ(argmax(probabilities(tree, Tensor({1, 1}, {std::numeric_limits<float>::quiet_NaN()})).row(0)), 1);
}

TEST(Forest, RejectsInvalidArguments) {
  const Tensor x({2, 1}, {1, 2});
  const auto usage = [&](const Tensor& points, const Labels& labels, std::int64_t classes, const ForestOptions& options = {}) {
    expect_refusal(ErrorCode::usage, [&] { random_forest(points, labels, classes, options); });
  };
  usage(x, {0}, 2);
  usage(x, {0, 2}, 2);
  usage(x, {-1, 0}, 2);
  usage(x, {0, 0}, 0);
  usage(Tensor({0, 3}), {}, 2);
  usage(Tensor({2, 0}), {0, 1}, 2);
  usage(Tensor({2}, {1, 2}), {0, 1}, 2);
  usage(Tensor({2, 1}, {1, std::numeric_limits<float>::quiet_NaN()}), {0, 1}, 2);
  usage(Tensor({2, 1}, {1, std::numeric_limits<float>::infinity()}), {0, 1}, 2);
  usage(x, {0, 1}, 2, {.trees = 0});
  usage(x, {0, 1}, 2, {.depth = -1});
  usage(x, {0, 1}, 2, {.depth = 31});
  usage(x, {0, 1}, 2, {.features = 0});
  usage(x, {0, 1}, 2, {.features = 2});
  expect_refusal(ErrorCode::resources, [&] { random_forest(x, {0, 1}, 2, {.trees = std::int64_t{1} << 40}); });
  expect_refusal(ErrorCode::usage, [] { decision_tree(Tensor({0, 3}), {}, 2, 1); });
}

// ---- As ONNX.

Model read(const std::string& bytes) { return import_onnx(std::as_bytes(std::span(bytes)), {}).value(); }

TEST(Forest, ItsFileIsTheSameForest) {
  const Flowers data = flowers(150, 6);
  for (const std::int64_t classes : {3, 4}) {  // the last class has no points
    const Graph forest = random_forest(data.x, data.labels, classes, {.trees = 7, .depth = 5});
    const Model model = read(exported(forest));
    EXPECT_EQ(model.classes, classes);
    EXPECT_EQ(model.summary.outputs[0].name, "logits");
    EXPECT_EQ(model.summary.inputs[0].shape, Shape({-1, 4}));
    const Tensor a = probabilities(forest, data.x), b = make_executor("cpu", model.graph, {}).value()->logits(data.x).value();
    EXPECT_EQ(a.data, b.data);
  }
}

TEST(Forest, FilesOfTwoClassesOfOneAndOfImages) {
  const Tensor x({3, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  for (const Labels& labels : {Labels{0, 1, 0}, Labels{0, 0, 0}, Labels{1, 1, 1}}) {
    const Graph forest = decision_tree(x, labels, 2, 3);
    const Model model = read(exported(forest));
    EXPECT_EQ(model.input_shape, Shape({1, 1, 2, 2}));
    EXPECT_EQ(model.classes, 2);
    const auto executor = make_executor("cpu", model.graph, {}).value();
    EXPECT_EQ(executor->logits(Tensor({3, 1, 1, 2, 2}, x.data)).value().data, probabilities(forest, x).data);
  }
}

// A tree of one node with this mode and two leaves, optionally modified by `change`.
Graph one_question(Mode mode, Trees::Aggregate aggregate, const std::function<void(Trees&)>& change = {}) {
  Trees trees{.nodes = {{mode, true, 1, 0.5F, 1, 2, 0, 1}},
              .roots = {0, 3},
              .weights = {{0, 1}, {1, 2}, {1, 5}},
              .members = {1},
              .targets = 2,
              .aggregate = aggregate};
  for (const auto& [first, count] : {std::pair{0, 2}, {2, 1}, {1, 1}})
    trees.nodes.push_back({Mode::leaf, false, 0, 0, 0, 0, first, count});
  if (change) change(trees);
  Graph g;
  const ValueId x = build::reshape(g, append_input(g, {2}, Extent::example, "x"), {1, 2});
  g.outputs = {
      build::reshape(g, append(g, Op::tree_ensemble, {x}, TreesAttribute{std::make_shared<const Trees>(std::move(trees))}), {2})};
  return g;
}

TEST(Forest, EverySplitAndSumIsExported) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x({4, 2}, {0, 0.4F, 0, 0.5F, 0, 0.6F, 0, nan});
  for (const Mode mode : {Mode::less_equal, Mode::less, Mode::greater_equal, Mode::greater, Mode::equal, Mode::not_equal}) {
    for (const auto aggregate : {Trees::Aggregate::sum, Trees::Aggregate::least, Trees::Aggregate::largest}) {
      const Graph graph = one_question(mode, aggregate);
      const Model model = read(exported(graph));
      EXPECT_EQ(probabilities(graph, x).data, make_executor("cpu", model.graph, {}).value()->logits(x).value().data)
          << int(mode) << " " << int(aggregate);
    }
  }
}

TEST(Forest, RejectsTreesThatTheFormatCannotExpress) {
  const auto refused = [](const Graph& graph) {
    const Result<std::string> bytes = export_onnx_with_trees(graph, "forest");
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.error().code, ErrorCode::unsupported);
  };
  refused(one_question(Mode::member, Trees::Aggregate::sum));
  refused(one_question(Mode::less, Trees::Aggregate::sum, [](Trees& trees) { trees.nodes[0].no = 1; }));
}

}  // namespace
}  // namespace probust
