// SPDX-License-Identifier: MIT
// Boundary search without gradients, and clouds: results do not depend on where steps end, and no work is repeated.
#include "probust/analysis/geometry/boundary.h"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <functional>
#include <limits>

#include "probust/analysis/geometry/cloud.h"
#include "probust/estimators/statistics/counts.h"
#include "probust/ops/append.h"
#include "probust/perturb/noise_text.h"
#include "probust/run/row.h"
#include "support/known_problems.h"
#include "support/networks.h"

namespace probust {
namespace {

using Eigen::VectorXd;

// Sixteen trees of depth three over six features for three classes: a stepped boundary with many equidistant points.
Graph small_forest() {
  using Mode = TreeNode::Mode;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Trees trees;
  trees.targets = 3;
  for (int tree = 0; tree < 16; ++tree) {
    const auto root = static_cast<std::int32_t>(trees.nodes.size());
    trees.roots.push_back(root);
    for (int k = 0; k < 7; ++k)
      trees.nodes.push_back({Mode::less_equal, false, static_cast<std::int32_t>(random() % 6), 0.7F * uniform(random),
                             root + 2 * k + 1, root + 2 * k + 2});
    for (int k = 0; k < 8; ++k) {
      trees.nodes.push_back({Mode::leaf, false, 0, 0, 0, 0, static_cast<std::int32_t>(trees.weights.size()), 1});
      trees.weights.push_back({static_cast<std::int32_t>(random() % 3), uniform(random)});
    }
  }
  Graph g;
  const ValueId x = build::reshape(g, append_input(g, {6}, Extent::example, "x"), {1, 6});
  const TreesAttribute attribute{std::make_shared<const Trees>(std::move(trees))};
  g.outputs = {build::reshape(g, append(g, Op::tree_ensemble, {x}, attribute), {3})};
  return g;
}

struct Problem {
  std::string name;
  Graph graph;
  Tensor x;
};

std::vector<Problem> problems() {
  std::mt19937 random(1);
  return {{"linear", test::linear_classifier(Tensor({3, 2}, {1, 0, -1, 1, 0, -2}), Tensor({3}, {0.2F, 0, -0.1F})),
           test::random_tensor({6, 2}, random)},
          {"one element", test::linear_classifier(Tensor({2, 1}, {1, 0}), Tensor({2})), test::random_tensor({4, 1}, random)},
          {"right angle", test::right_angle(0.5F, -0.2F), test::random_tensor({6, 2}, random)},
          {"out of reach", test::ball(2, 100), test::random_tensor({1, 2}, random)},
          {"forest", small_forest(), test::random_tensor({8, 6}, random)},
          {"smooth", test::small_smooth_network(), test::random_tensor({6, 6}, random)},
          {"pictures", test::small_cnn(), test::random_tensor({4, 1, 8, 8}, random)}};
}

Points points_at(Executor& executor, const Tensor& x) {
  return points_of(x, predicted_classes(executor.logits(x).value()), 3, 7);
}

// The plain algorithm, which bisects each direction in which the prediction changes to the end.
class PlainSearch {
 public:
  PlainSearch(Executor& executor, const Points& point)
      : executor_(executor),
        point_(point),
        x_(Eigen::Map<const Eigen::VectorXf>(point.x.data.data(), point.x.size()).cast<double>()),
        random_(point.seed, static_cast<std::uint32_t>(point.index[0]), 0, 0xb0a7) {}

  NearestBoundary run() {
    const BlackBoxSearch search;
    const VectorXd nowhere = VectorXd::Zero(x_.size());
    (void)changed({nowhere});
    for (double reach = search.reach / 256; reach <= search.reach && best_.size() == 0; reach *= 2) {
      std::vector<VectorXd> steps;
      for (std::int64_t k = 0; k < search.directions; ++k) steps.push_back(direction(reach, nowhere, 1));
      take_shortest(steps);
    }
    if (best_.size() == 0) return {std::numeric_limits<double>::infinity(), -1, {}, forwards_};
    double spread = 0.5;
    for (int round = 0; round < search.rounds; ++round) {
      const double before = best_.norm();
      std::vector<VectorXd> steps;
      for (std::int64_t k = 0; k < search.tries; ++k) steps.push_back(direction(before * 0.999, best_, spread));
      for (Eigen::Index e = 0; e < std::min<Eigen::Index>(x_.size(), 64); ++e) {
        steps.push_back(best_);
        steps.back()[e] = 0;
        steps.push_back(nowhere);
        steps.back()[e] = best_[e];
      }
      take_shortest(steps);
      if (best_.norm() > 0.99 * before) spread *= 0.7;
    }
    const VectorXd exact = (x_ + best_).cast<float>().cast<double>() - x_;
    const Eigen::VectorXf step = exact.cast<float>();
    (void)changed({exact});
    return {exact.norm(), -1, {step.begin(), step.end()}, forwards_};
  }

 private:
  VectorXd direction(double length, const VectorXd& centre, double spread) {
    VectorXd v = centre;
    const double scale = centre.norm() > 0 ? spread * centre.norm() / std::sqrt(static_cast<double>(centre.size())) : 1.0;
    for (double& element : v) element += scale * random_.normal();
    return v * (length / v.norm());
  }

  std::vector<bool> changed(const std::vector<VectorXd>& steps) {
    Shape shape = point_.x.shape;
    shape[0] = static_cast<std::int64_t>(steps.size());
    Tensor x(shape);
    for (std::int64_t k = 0; k < shape[0]; ++k)
      Eigen::Map<Eigen::VectorXf>(x.row(k).data(), x_.size()) = (x_ + steps[static_cast<std::size_t>(k)]).cast<float>();
    const Tensor logits = executor_.logits(x).value();
    std::vector<bool> result;
    for (std::int64_t k = 0; k < shape[0]; ++k) result.push_back(argmax(logits.row(k)) != point_.target[0]);
    forwards_ += shape[0];
    return result;
  }

  void take_shortest(const std::vector<VectorXd>& steps) {
    const std::vector<bool> others = changed(steps);
    std::vector<VectorXd> ends;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      if (others[k]) ends.push_back(steps[k]);
    }
    if (ends.empty()) return;
    std::vector<double> low(ends.size(), 0.0), high(ends.size(), 1.0);
    for (int halving = 0; halving < 26; ++halving) {
      std::vector<VectorXd> middles;
      for (std::size_t k = 0; k < ends.size(); ++k) middles.emplace_back(0.5 * (low[k] + high[k]) * ends[k]);
      const std::vector<bool> beyond = changed(middles);
      for (std::size_t k = 0; k < ends.size(); ++k) (beyond[k] ? high : low)[k] = 0.5 * (low[k] + high[k]);
    }
    for (std::size_t k = 0; k < ends.size(); ++k) {
      if (best_.size() == 0 || high[k] * ends[k].norm() < best_.norm()) best_ = high[k] * ends[k];
    }
  }

  Executor& executor_;
  Points point_;
  VectorXd x_, best_;
  NoiseStream random_;
  std::int64_t forwards_ = 0;
};

TEST(BoundarySearchTest, DroppingHopelessCandidatesKeepsTheResult) {
  std::int64_t dropped = 0;
  for (const Problem& problem : problems()) {
    const auto executor = make_executor("cpu", problem.graph, {}).value();
    const Points points = points_at(*executor, problem.x);
    const auto nearest = nearest_boundary_black_box(*executor, points).value();
    for (std::int64_t i = 0; i < points.size(); ++i) {
      SCOPED_TRACE(problem.name + ", point " + std::to_string(i));
      const NearestBoundary plain = PlainSearch(*executor, slice(points, i, 1)).run();
      EXPECT_EQ(nearest[i].distance, plain.distance);
      if (std::isfinite(plain.distance)) {
        EXPECT_EQ(nearest[i].step, plain.step);
      }
      EXPECT_LE(nearest[i].forwards, plain.forwards);
      if (problem.name == "pictures") {
        EXPECT_LT(nearest[i].forwards, 0.8 * static_cast<double>(plain.forwards));
      }
      dropped += plain.forwards - nearest[i].forwards;
    }
  }
  EXPECT_GT(dropped, 100000);
}

// Whether a condition on time holds in at least one of a few attempts, because other programs may slow this one down.
bool tends_to(const std::function<bool()>& holds) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (holds()) return true;
  }
  return false;
}

// The number of steps that a job needs if each is as short as possible.
int steps_of(Job& job) {
  int steps = 1;
  while (!job.step(0)) ++steps;
  return steps;
}

TEST(BoundarySearchTest, ResultDoesNotDependOnWhereStepsEnd) {
  for (const Problem& problem : problems()) {
    SCOPED_TRACE(problem.name);
    const auto executor = make_executor("cpu", problem.graph, {1, std::int64_t{1} << 30, 16}).value();
    const Points points = points_at(*executor, problem.x);
    const auto expected = nearest_boundary_black_box(*executor, slice(points, 0, 1)).value()[0];
    executor->progress.passes = 0;
    BoundarySearch search(*executor, slice(points, 0, 1));
    EXPECT_GT(steps_of(search), 1);
    EXPECT_EQ(search.nearest().distance, expected.distance);
    EXPECT_EQ(search.nearest().rival, expected.rival);
    EXPECT_EQ(search.nearest().step, expected.step);
    EXPECT_EQ(search.nearest().forwards, expected.forwards);
    EXPECT_EQ(executor->progress.passes, expected.forwards);  // no pass is repeated
    EXPECT_EQ(search.done(), expected.forwards);
    EXPECT_TRUE(search.step(0));  // nothing remains
    EXPECT_EQ(executor->progress.passes, expected.forwards);
  }
}

TEST(BoundarySearchTest, PlansLittleMoreThanItDoes) {
  for (const Problem& problem : problems()) {
    if (problem.name == "one element") continue;  // all directions have equal length, so none can be dropped
    SCOPED_TRACE(problem.name);
    const auto executor = make_executor("cpu", problem.graph, {}).value();
    const Points points = points_at(*executor, problem.x);
    executor->progress.passes = 0;
    BoundarySearch search(*executor, slice(points, 0, 1));
    std::vector<std::int64_t> planned = {search.planned()}, done = {0};
    while (!search.step(0)) {
      planned.push_back(search.planned());
      done.push_back(search.done());
    }
    const std::int64_t all = search.nearest().forwards;
    EXPECT_EQ(search.planned(), all);
    EXPECT_LT(planned.front(), 4 * all);
    for (std::size_t k = 0; k < planned.size(); ++k) {
      EXPECT_GE(planned[k], 0.95 * static_cast<double>(all));
      EXPECT_LE(static_cast<double>(done[k]), 1.05 * static_cast<double>(planned[k]));
    }
  }
}

// Passes are computed outside: one step per request, and requests only for new inputs.
TEST(BoundarySearchTest, AsksAnExternalEngineForNoPassTwice) {
  std::mt19937 random(5);
  const auto network = make_executor("cpu", test::small_cnn(), {}).value();
  const Points points = points_at(*network, test::random_tensor({1, 1, 8, 8}, random));
  const NearestBoundary expected = nearest_boundary_black_box(*network, points).value()[0];
  Graph identity;
  identity.outputs = {append_input(identity, {1, 8, 8}, Extent::example, "x")};
  ExternalEngine external;
  ExecutorOptions options;
  options.batch = 64;
  const auto executor = make_forward_executor("elsewhere", external_program(external, identity, 4), {1, 8, 8}, 4, options);
  BoundarySearch search(*executor, points, {}, &external);
  std::int64_t requests = 0;
  for (; !search.step(1e6); ++requests) {
    ASSERT_NE(external.wanted(), nullptr);
    const Tensor x({external.wanted()->count, 1, 8, 8}, external.wanted()->values);
    external.answer(network->logits(x).value().data, 4);
  }
  EXPECT_EQ(search.nearest().distance, expected.distance);
  EXPECT_EQ(external.passes(), expected.forwards);
  EXPECT_EQ(search.done(), expected.forwards);
  EXPECT_GE(requests, expected.forwards / 64);
  EXPECT_LT(requests, expected.forwards / 8);
}

TEST(BoundarySearchTest, TargetDefaultsToThePrediction) {
  std::mt19937 random(5);
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  Points points = points_at(*executor, test::random_tensor({1, 1, 8, 8}, random));
  const NearestBoundary expected = nearest_boundary_black_box(*executor, points).value()[0];
  points.target.clear();
  BoundarySearch search(*executor, points);
  search.finish();
  EXPECT_EQ(search.nearest().step, expected.step);
  EXPECT_EQ(search.nearest().rival, expected.rival);
}

TEST(BoundarySearchTest, RefusesSeveralPointsAndNoDirections) {
  std::mt19937 random(5);
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  const Points points = points_at(*executor, test::random_tensor({2, 1, 8, 8}, random));
  EXPECT_THROW(BoundarySearch(*executor, points), Error);
  EXPECT_THROW(BoundarySearch(*executor, slice(points, 0, 1), {.directions = 0}), Error);
  EXPECT_FALSE(nearest_boundary_black_box(*executor, points, {.directions = 0}));
}

TEST(CloudMakerTest, ResultDoesNotDependOnWhereStepsEnd) {
  std::mt19937 random(6);
  const auto executor = make_executor("cpu", test::small_cnn(), {1, std::int64_t{1} << 30, 8}).value();
  const Points points = points_at(*executor, test::random_tensor({1, 1, 8, 8}, random));
  constexpr std::int64_t kCount = 9001;  // three parts; the last is not a full batch
  for (const char* text : {"gaussian:0.4", "uniform:1", "gaussian:0.4@3,5..9+laplace:0.5@40"}) {
    const Noise noise = parse_noise(text);
    std::vector<std::int64_t> counts(4, 0);
    EXPECT_TRUE(tends_to([&] {  // the first step takes long if other programs delay it
      CloudMaker again(*executor, points, noise, kCount);
      return steps_of(again) > 10;
    }));
    executor->progress.passes = 0;
    CloudMaker maker(*executor, points, noise, kCount);
    while (!maker.step(0)) continue;
    EXPECT_EQ(executor->progress.passes, kCount);
    EXPECT_EQ(maker.done(), maker.planned());
    const Cloud& cloud = maker.cloud();
    EXPECT_EQ(cloud.x.shape, Shape({kCount, 1, 8, 8}));
    for (const std::int64_t winner : cloud.predicted) ++counts[winner];
    EXPECT_EQ(counts, executor->sample(points, noise, kCount).value()[0]) << text;
    EXPECT_EQ(cloud.predicted, predicted_classes(executor->logits(cloud.x).value()));
    const Cloud at_once = noisy_cloud(*executor, points, noise, kCount).value();
    EXPECT_EQ(at_once.x.data, cloud.x.data);
    EXPECT_EQ(at_once.predicted, cloud.predicted);
  }
}

// The samples are identical to those of a single draw of all samples.
TEST(CloudMakerTest, PartsContinueAfterTheLast) {
  std::mt19937 random(6);
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  const Points points = points_at(*executor, test::random_tensor({1, 1, 8, 8}, random));
  const Noise noise = parse_noise("gaussian:0.4");
  const auto add = [&](const NoiseLanes& lanes, float* x) { noise.shape->add(lanes, 64, 0.4F, x); };
  const Cloud cloud = noisy_cloud(*executor, points, noise, 10000).value();
  EXPECT_EQ(cloud.x.data, noisy_rows(points, 0, 10000, 1, add).data);
}

}  // namespace
}  // namespace probust
