// SPDX-License-Identifier: MIT
// exact, and auto on classifiers that are constant on regions: against sums over all cells, closed forms and counting.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "probust/analysis/geometry/boundary.h"
#include "probust/estimators/estimator.h"
#include "probust/model.h"
#include "probust/noise/clip_math.h"
#include "probust/normal/univariate.h"
#include "probust/ops/build.h"
#include "probust/regions/step_model.h"
#include "probust/run/run.h"
#include "probust/train/forest.h"
#include "support/networks.h"
#include "support/refusal.h"

namespace probust {
namespace {

using test::message_of;
using Mode = TreeNode::Mode;
constexpr float kInf = std::numeric_limits<float>::infinity();

// Overlapping classes in `width` dimensions, with values on a grid, so that many thresholds coincide.
struct Table {
  Tensor x;
  std::vector<std::int64_t> labels;
};
Table table(std::int64_t count, std::int64_t width, std::int64_t classes, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Table data{Tensor({count, width}), {}};
  for (std::int64_t i = 0; i < count; ++i) {
    data.labels.push_back(i % classes);
    for (std::int64_t e = 0; e < width; ++e)
      data.x.row(i)[e] = std::round(4 * (0.6F * normal(random) + static_cast<float>(e % classes == i % classes))) / 4;
  }
  return data;
}

std::vector<Estimate> estimates_at(Executor& executor, const Tensor& x, const Noise& noise, const std::string& estimator,
                                   std::vector<std::int64_t> labels = {}) {
  const Tensor logits = executor.logits(x).value();
  Points points{x, {}, predicted_classes(logits), 3};
  for (std::int64_t i = 0; i < x.shape[0]; ++i) points.index.push_back(i);
  points.label = std::move(labels);
  Evaluation evaluation(executor, points, logits);
  return estimate(evaluation, noise, parse_estimator(estimator)).value();
}

// A classifier of one number that uses `trees`: the logits of the classes are the ensemble's targets.
Graph of_trees(Trees trees, std::int64_t features = 1) {
  Graph g;
  const ValueId x = build::reshape(g, append_input(g, {features}, Extent::example, "x"), {1, features});
  const std::int64_t classes = trees.targets;
  const ValueId y = append(g, Op::tree_ensemble, {x}, TreesAttribute{std::make_shared<const Trees>(std::move(trees))});
  g.outputs = {build::reshape(g, y, {classes})};
  return g;
}

// A question whose leaves are class 1 for yes and class 0 for no.
Trees stump(Mode mode, float threshold, bool missing_is_yes = false, std::vector<float> members = {}) {
  Trees trees;
  TreeNode question{mode, missing_is_yes, 0, threshold, 1, 2};
  question.count = static_cast<std::int32_t>(members.size());
  if (mode != Mode::member) question.count = 0;
  trees.nodes = {question, {.first = 0, .count = 1}, {.first = 1, .count = 1}};
  trees.roots = {0};
  trees.weights = {{1, 1}, {0, 1}};
  trees.members = std::move(members);
  trees.targets = 2;
  return trees;
}

double p_of(const Graph& graph, float x, const Noise& noise, const std::string& estimator = "exact") {
  const auto executor = make_executor("cpu", graph, {}).value();
  return estimates_at(*executor, Tensor({1, 1}, {x}), noise, estimator)[0].p;
}

Noise normal_draws(double sigma) { return {isotropic_gaussian(), sigma}; }

// A cell between thresholds, (low, high] along each element, and the class that the executor predicts in it.
struct Cell {
  std::vector<double> low, high;
  std::int64_t predicted;
};

std::vector<Cell> cells_of(Executor& executor, const Trees& trees, std::size_t width) {
  std::vector<std::vector<float>> edges(width, std::vector<float>{-kInf});
  for (const TreeNode& node : trees.nodes) {
    if (node.mode != Mode::leaf) edges[node.feature].push_back(node.threshold);
  }
  std::size_t count = 1;
  for (std::vector<float>& own : edges) {
    own.push_back(kInf);
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    count *= own.size() - 1;
  }
  Tensor inside({static_cast<std::int64_t>(count), static_cast<std::int64_t>(width)});
  std::vector<Cell> cells(count);
  for (std::size_t cell = 0, rest = 0; cell < count; ++cell) {
    rest = cell;
    for (std::size_t e = 0; e < width; ++e) {
      const std::size_t k = rest % (edges[e].size() - 1);
      rest /= edges[e].size() - 1;
      const float low = edges[e][k], high = edges[e][k + 1];
      cells[cell].low.push_back(low);
      cells[cell].high.push_back(high);
      inside.row(static_cast<std::int64_t>(cell))[e] = std::isinf(high) ? (std::isinf(low) ? 0 : low + 1) : high;
    }
  }
  const std::vector<std::int64_t> predicted = predicted_classes(executor.logits(inside).value());
  for (std::size_t cell = 0; cell < count; ++cell) cells[cell].predicted = predicted[cell];
  return cells;
}

// The sum over the cells of a class. `mass(e, x, low, high)` is the probability that element e is in (low, high].
double sum_over_cells(Executor& executor, const Trees& trees, std::span<const float> x, std::int64_t target,
                      const std::function<double(std::size_t, double, double, double)>& mass) {
  double sum = 0;
  for (const Cell& cell : cells_of(executor, trees, x.size())) {
    double product = cell.predicted == target ? 1 : 0;
    for (std::size_t e = 0; e < x.size(); ++e) product *= mass(e, x[e], cell.low[e], cell.high[e]);
    sum += product;
  }
  return sum;
}

const Trees& trees_in(const Graph& graph) {
  const auto found =
      std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return node.op == Op::tree_ensemble; });
  return *std::get<TreesAttribute>(found->attributes).trees;
}

double normal_mass(double sigma, double x, double low, double high) {
  return normal::interval((low - x) / sigma, (high - x) / sigma);
}

// ---- against all cells

TEST(Exact, IsTheSumOverAllCells) {
  for (const std::int64_t trees : {1, 3, 12}) {
    const Table data = table(90, 3, 3, 11);
    const Graph forest = random_forest(data.x, data.labels, 3, {.trees = trees, .depth = 8, .seed = 5});
    const auto executor = make_executor("cpu", forest, {}).value();
    const Tensor x = rows(data.x, 0, 12);
    const std::vector<std::int64_t> target = predicted_classes(executor->logits(x).value());
    const auto own = estimates_at(*executor, x, normal_draws(0.4), "exact");
    for (std::int64_t i = 0; i < 12; ++i) {
      const double sum =
          sum_over_cells(*executor, trees_in(forest), x.row(i), target[i],
                         [](std::size_t, double at, double low, double high) { return normal_mass(0.4, at, low, high); });
      EXPECT_NEAR(own[i].p, sum, 1e-9);
      EXPECT_NEAR(own[i].p_fail, 1 - sum, 1e-9);
      EXPECT_LE(*own[i].ci_low, own[i].p);
      EXPECT_LT(*own[i].ci_high - *own[i].ci_low, 1e-9);
      EXPECT_FALSE(own[i].std_error);
    }
  }
}

TEST(Exact, NoiseMayDifferBetweenColumns) {
  const Table data = table(60, 2, 2, 3);
  const Graph forest = random_forest(data.x, data.labels, 2, {.trees = 5, .depth = 6});
  const auto executor = make_executor("cpu", forest, {}).value();
  const Tensor x = rows(data.x, 4, 1);
  const std::int64_t target = predicted_classes(executor->logits(x).value())[0];
  const auto uniform = [](double half, double at, double low, double high) {
    return std::max(0.0, std::min(high, at + half) - std::max(low, at - half)) / (2 * half);
  };
  const auto laplace = [](double scale, double at, double low, double high) {
    const auto below = [&](double t) {
      const double z = (t - at) / scale;
      return z < 0 ? std::exp(z) / 2 : 1 - std::exp(-z) / 2;
    };
    return below(high) - below(low);
  };
  const double sum =
      sum_over_cells(*executor, trees_in(forest), x.row(0), target, [&](std::size_t e, double at, double low, double high) {
        return e == 0 ? uniform(0.5, at, low, high) : laplace(0.3, at, low, high);
      });
  const auto own = estimates_at(*executor, x, parse_additive_noise("uniform:0.5@0+laplace:0.3@1"), "exact");
  EXPECT_NEAR(own[0].p, sum, 1e-9);
  // No noise on column 0: only its present value counts.
  const double part =
      sum_over_cells(*executor, trees_in(forest), x.row(0), target, [&](std::size_t e, double at, double low, double high) {
        return e == 0 ? (at > low && at <= high ? 1 : 0) : normal_mass(0.7, at, low, high);
      });
  EXPECT_NEAR(estimates_at(*executor, x, parse_additive_noise("gaussian:0.7@1"), "exact")[0].p, part, 1e-9);
}

TEST(Exact, ClippedSamplesAreAtTheEndsOfTheRange) {
  // Clipped to [0, 1], x = .9 is exactly 1 with probability P(z > 1).
  const double above = normal::complement(1);
  const Noise noise{clipped(isotropic_gaussian(), {0, 1}), 0.1};
  EXPECT_NEAR(p_of(of_trees(stump(Mode::less, 1)), 0.9F, noise), 1 - above, 1e-6);
  EXPECT_NEAR(p_of(of_trees(stump(Mode::less_equal, 1)), 0.9F, noise), 1, 1e-12);
  EXPECT_NEAR(p_of(of_trees(stump(Mode::greater_equal, 1)), 0.9F, noise), 1 - above, 1e-6);
}

TEST(Exact, RoundedSamplesAreLevels) {
  // Five levels: 0, .25, .5, .75, 1. From x = .5 with sigma .2, the level .5 has all values within .125.
  const Noise noise{clipped(isotropic_gaussian(), {0, 1, 5}), 0.2};
  const double within = normal::interval(-0.125 / 0.2, 0.125 / 0.2);
  EXPECT_NEAR(p_of(of_trees(stump(Mode::equal, 0.5F)), 0.5F, noise), within, 1e-9);
  EXPECT_NEAR(p_of(of_trees(stump(Mode::less_equal, 0.5F)), 0.5F, noise), 0.5 + within / 2, 1e-9);
  EXPECT_NEAR(p_of(of_trees(stump(Mode::less, 0.5F)), 0.5F, noise), 0.5 + within / 2, 1e-9);  // class 0 at .5 and above
}

// ---- questions

TEST(Exact, KnowsEveryQuestion) {
  const double right = normal::cdf(2);  // from x = 0, sigma .5, to the threshold 1
  for (const Mode mode : {Mode::less_equal, Mode::less, Mode::greater_equal, Mode::greater})
    EXPECT_NEAR(p_of(of_trees(stump(mode, 1)), 0, normal_draws(0.5)), right, 1e-12);
  EXPECT_NEAR(p_of(of_trees(stump(Mode::not_equal, 1)), 0, normal_draws(0.5)), 1, 1e-12);
  EXPECT_NEAR(p_of(of_trees(stump(Mode::equal, 1)), 0, normal_draws(0.5)), 1, 1e-12);
  const Noise levels{clipped(isotropic_gaussian(), {0, 4, 5}), 1};  // 0, 1, 2, 3, 4
  const double member = normal::interval(-0.5, 0.5) + normal::interval(1.5, 2.5);
  EXPECT_NEAR(p_of(of_trees(stump(Mode::member, 0, false, {1, 3})), 1, levels), member, 1e-9);
}

TEST(Exact, AMissingValueStaysMissing) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const bool missing_is_yes : {true, false})
    EXPECT_EQ(p_of(of_trees(stump(Mode::less, 0, missing_is_yes)), kNaN, normal_draws(1)), 1);
}

TEST(Exact, AFeatureMayBeScaledAndMoved) {
  Graph g;
  const ValueId x = append_input(g, {2}, Extent::example, "x");
  // Features (3 - x1) / 2 and x0: the first is at most 1 if x1 is at least 1.
  const ValueId turned = build::subtract(g, append_constant(g, Tensor::scalar(3)), x);
  const ValueId scaled = build::multiply(g, turned, append_constant(g, Tensor::scalar(0.5F)));
  const ValueId first = append(g, Op::slice, {scaled}, SliceAttributes{{1}, {1}, {1}});
  const ValueId second = append(g, Op::slice, {x}, SliceAttributes{{0}, {1}, {1}});
  const ValueId features = build::reshape(g, append(g, Op::concat, {first, second}, AxisAttribute{0}), {1, 2});
  Trees trees = stump(Mode::less_equal, 1);
  const ValueId y = append(g, Op::tree_ensemble, {features}, TreesAttribute{std::make_shared<const Trees>(std::move(trees))});
  g.outputs = {build::reshape(g, build::add(g, y, append_constant(g, Tensor({1, 2}, {0.25F, 0}))), {2})};
  const auto executor = make_executor("cpu", g, {}).value();
  const auto own = estimates_at(*executor, Tensor({2, 2}, {5, 2, 5, 0}), normal_draws(0.5), "exact");
  EXPECT_NEAR(own[0].p, normal::cdf(2), 1e-9);
  EXPECT_NEAR(own[1].p, normal::cdf(2), 1e-9);
}

// Two trees vote for classes 0 and 1: where they disagree, the lower class wins a tie.
TEST(Exact, TheClassifierDecidesTies) {
  Trees trees = stump(Mode::less_equal, 0);
  TreeNode second{Mode::less_equal, false, 0, 1, 4, 5};
  trees.nodes.insert(trees.nodes.end(), {second, {.first = 0, .count = 1}, {.first = 1, .count = 1}});
  trees.roots = {0, 3};
  // Class 1 needs both votes: x <= 0.
  EXPECT_NEAR(p_of(of_trees(trees), -0.5F, normal_draws(1)), normal::cdf(0.5), 1e-9);
  EXPECT_NEAR(p_of(of_trees(trees), 0.5F, normal_draws(1)), normal::cdf(0.5), 1e-9);
}

// ---- rare failures, and limits

TEST(Exact, RareFailuresAreDirect) {
  const auto executor = make_executor("cpu", of_trees(stump(Mode::less_equal, 9)), {}).value();
  const auto own = estimates_at(*executor, Tensor({1, 1}, {0.0F}), normal_draws(1), "exact")[0];
  EXPECT_NEAR(own.p_fail / normal::complement(9), 1, 1e-9);
  EXPECT_EQ(own.status, Status::ok);
}

TEST(Exact, WhatIsNotDividedIsCounted) {
  const Table data = table(300, 12, 3, 8);
  const Graph forest = random_forest(data.x, data.labels, 3, {.trees = 30, .depth = 10});
  const auto executor = make_executor("cpu", forest, {}).value();
  const Tensor x = rows(data.x, 0, 30);
  const auto truth = estimates_at(*executor, x, normal_draws(0.5), "mc:100000"),
             own = estimates_at(*executor, x, normal_draws(0.5), "exact:1000");
  std::int64_t covered = 0, counted = 0;
  double squares = 0, plain = 0;
  for (std::int64_t i = 0; i < 30; ++i) {
    covered += *own[i].ci_low <= truth[i].p && truth[i].p <= *own[i].ci_high ? 1 : 0;
    counted += own[i].std_error ? 1 : 0;
    squares += std::pow(own[i].p - truth[i].p, 2);
    plain += truth[i].p * (1 - truth[i].p) / 1000;
    EXPECT_LE(own[i].forwards, 2000);
    if (own[i].std_error) {
      EXPECT_NE(own[i].note.find("were counted"), std::string::npos);
    }
  }
  EXPECT_GE(covered, 28);
  EXPECT_GE(counted, 20);
  EXPECT_LT(squares, plain);  // mc:1000's expected squares
}

TEST(Exact, DoesNotDependOnThreadsMemoryOrBlocks) {
  const Table data = table(120, 8, 3, 9);
  const Graph forest = random_forest(data.x, data.labels, 3, {.trees = 20, .depth = 10});
  std::vector<std::vector<Estimate>> all;
  for (const auto& [threads, memory] :
       {std::pair{1, std::int64_t{2} << 30}, {3, std::int64_t{2} << 30}, {2, std::int64_t{64} << 20}}) {
    const auto executor = make_executor("cpu", forest, {.threads = threads, .memory = memory}).value();
    all.push_back(estimates_at(*executor, rows(data.x, 0, 9), normal_draws(0.5), "exact:500", std::vector<std::int64_t>(9, 1)));
  }
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(all[0][i].p, all[1][i].p);
    EXPECT_EQ(all[0][i].p, all[2][i].p);
    EXPECT_EQ(all[0][i].p_label, all[2][i].p_label);
    EXPECT_EQ(all[0][i].forwards, all[1][i].forwards);
  }
}

TEST(Exact, TheLabelHasItsOwnProbability) {
  const Table data = table(60, 2, 3, 4);
  const Graph forest = random_forest(data.x, data.labels, 3, {.trees = 4, .depth = 6});
  const auto executor = make_executor("cpu", forest, {}).value();
  const Tensor x = rows(data.x, 0, 6);
  const auto own = estimates_at(*executor, x, normal_draws(0.4), "exact", std::vector<std::int64_t>(6, 2));
  const std::vector<std::int64_t> target = predicted_classes(executor->logits(x).value());
  for (std::int64_t i = 0; i < 6; ++i) {
    if (target[i] == 2) continue;
    const double sum =
        sum_over_cells(*executor, trees_in(forest), x.row(i), 2,
                       [](std::size_t, double at, double low, double high) { return normal_mass(0.4, at, low, high); });
    EXPECT_NEAR(own[i].p_label.value(), sum, 1e-9);
  }
}

TEST(Exact, RefusesWhatItCannotIntegrate) {
  std::mt19937 random(1);
  const auto network = make_executor("cpu", test::small_cnn(4), {}).value();
  const Tensor image = test::random_tensor({1, 1, 8, 8}, random);
  EXPECT_EQ(message_of([&] { (void)estimates_at(*network, image, normal_draws(0.1), "exact"); }),
            "estimator exact:100000 needs a classifier whose logits are a sum over decision trees; use mc:N or auto:N");
  const auto tree = make_executor("cpu", of_trees(stump(Mode::less, 1)), {}).value();
  const Noise recorded{recorded_noise({{2, 1}, {-1, 1}, "two.npy"}, "samples:two.npy"), 1};
  EXPECT_NE(message_of([&] {
              (void)estimates_at(*tree, Tensor({1, 1}, {0.0F}), recorded, "exact");
            }).find("needs noise whose elements are independent"),
            std::string::npos);
}

// ---- auto and subset

TEST(Auto, IntegratesTreesAndCountsOtherSteps) {
  const auto tree = make_executor("cpu", of_trees(stump(Mode::less, 1)), {}).value();
  const Tensor x({1, 1}, {0.0F});
  EXPECT_EQ(estimates_at(*tree, x, normal_draws(0.5), "auto:1000")[0].method->text(), "exact:1000");
  const Noise recorded{recorded_noise({{2, 1}, {-1, 1}, "two.npy"}, "samples:two.npy"), 1};
  EXPECT_EQ(estimates_at(*tree, x, recorded, "auto:1000")[0].method->text(), "mc:1000");
  Graph g;
  const ValueId sign = append(g, Op::sign, {append_input(g, {2}, Extent::example, "x")});
  g.outputs = {sign};
  const auto signs = make_executor("cpu", g, {}).value();
  EXPECT_EQ(estimates_at(*signs, Tensor({1, 2}, {1, -1}), normal_draws(0.5), "auto:2000")[0].method->text(), "mc:2000");
}

TEST(Auto, CountsAFunctionWithSteps) {
  const Table data = table(90, 3, 3, 2);
  const auto executor = make_executor("cpu", random_forest(data.x, data.labels, 3, {.trees = 10, .depth = 6}), {}).value();
  LoadedModel forest = model_from_function({[&](const Tensor& some) { return executor->logits(some).value(); }}, {3}, 3);
  const Tensor x = rows(data.x, 0, 5);
  for (const Row& row : forest.estimate(x, {"gaussian:0.3"}, {"auto:200"})) EXPECT_EQ(row.method(), "mc:200");
  const auto smooth = [](const Tensor& some) {
    Tensor logits({some.shape[0], 2});
    for (std::int64_t i = 0; i < some.shape[0]; ++i) logits.row(i)[0] = some.row(i)[0] + some.row(i)[1];
    return logits;
  };
  LoadedModel line = model_from_function({smooth}, {3}, 2);
  for (const Row& row : line.estimate(x, {"gaussian:0.3"}, {"auto:200"})) EXPECT_NE(row.method(), "mc:200");
}

TEST(Subset, CountsIfMarginsDoNotMove) {
  const Table data = table(150, 4, 3, 6);
  const auto executor = make_executor("cpu", random_forest(data.x, data.labels, 3, {.trees = 10, .depth = 8}), {}).value();
  const Tensor x = rows(data.x, 0, 40);
  const auto own = estimates_at(*executor, x, normal_draws(0.3), "subset:2000"),
             truth = estimates_at(*executor, x, normal_draws(0.3), "exact");
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < own.size(); ++i) covered += *own[i].ci_low <= truth[i].p && truth[i].p <= *own[i].ci_high ? 1 : 0;
  EXPECT_GE(covered, 37);
}

// ---- distances

TEST(Boundary, OfTreesIsExact) {
  const Table data = table(120, 3, 3, 12);
  const Graph forest = random_forest(data.x, data.labels, 3, {.trees = 8, .depth = 8});
  const auto executor = make_executor("cpu", forest, {}).value();
  EXPECT_EQ(boundary_method(*executor), BoundaryMethod::regions);
  const Tensor x = rows(data.x, 0, 25);
  Points points{x, {}, predicted_classes(executor->logits(x).value()), 0};
  for (std::int64_t i = 0; i < 25; ++i) points.index.push_back(i);
  const auto own = nearest_boundary_of_trees(*executor, points).value();
  const std::vector<Cell> cells = cells_of(*executor, trees_in(forest), 3);
  for (std::int64_t i = 0; i < 25; ++i) {
    EXPECT_EQ(own[i].distance, own[i].at_least);
    double nearest = kInf;
    for (const Cell& cell : cells) {
      double squared = 0;
      for (std::size_t e = 0; e < 3; ++e)
        squared += std::pow(std::max({cell.low[e] - x.row(i)[e], x.row(i)[e] - cell.high[e], 0.0}), 2);
      if (cell.predicted != points.target[i]) nearest = std::min(nearest, std::sqrt(squared));
    }
    EXPECT_NEAR(own[i].distance, nearest, 1e-12);
    Tensor there({1, 3}, std::vector<float>(x.row(i).begin(), x.row(i).end()));
    double squares = 0;
    for (std::size_t e = 0; e < 3; ++e) {
      there.data[e] += own[i].step[e];
      squares += std::pow(double{own[i].step[e]}, 2);
    }
    EXPECT_NEAR(std::sqrt(squares), own[i].distance, 1e-5);
    EXPECT_EQ(predicted_classes(executor->logits(there).value())[0], own[i].rival);
    EXPECT_NE(own[i].rival, points.target[i]);
  }
}

TEST(Boundary, OfASingleLeafDoesNotExist) {
  Trees trees;
  trees.nodes = {{.first = 0, .count = 1}};
  trees.roots = {0};
  trees.weights = {{1, 1}};
  trees.targets = 2;
  const auto executor = make_executor("cpu", of_trees(trees), {}).value();
  const auto own = nearest_boundary_of_trees(*executor, {Tensor({1, 1}, {0.0F}), {0}, {1}}).value()[0];
  EXPECT_TRUE(std::isinf(own.distance));
  EXPECT_EQ(own.rival, -1);
  EXPECT_EQ(estimates_at(*executor, Tensor({1, 1}, {0.0F}), normal_draws(1), "exact")[0].p, 1);
}

}  // namespace
}  // namespace probust
