// SPDX-License-Identifier: MIT
// quadrature:N: exact on linear models, accurate on others, and refused if there are too many dimensions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "probust/data/datasets.h"
#include "probust/estimators/estimator.h"
#include "probust/normal/multivariate.h"
#include "probust/normal/univariate.h"
#include "probust/ops/build.h"
#include "probust/perturb/noise_text.h"
#include "probust/train/forest.h"
#include "probust/train/models.h"
#include "probust/train/trainer.h"
#include "support/networks.h"

namespace probust {
namespace {

Result<std::vector<Estimate>> ask(const Graph& graph, const std::vector<float>& x, const Noise& noise,
                                  const std::string& estimator, std::int64_t target = -1) {
  const auto executor = make_executor("cpu", graph, {}).value();
  Shape shape = executor->point_shape();
  shape.insert(shape.begin(), 1);
  Points points{Tensor(shape, x), {0}, {0}, 0};
  const Tensor logits = executor->logits(points.x).value();
  points.target[0] = target >= 0 ? target : std::max<std::int64_t>(0, argmax(logits.row(0)));
  Evaluation evaluation(*executor, points, logits);
  return estimate(evaluation, noise, parse_estimator(estimator));
}

Estimate at(const Graph& graph, const std::vector<float>& x, const Noise& noise, const std::string& estimator,
            std::int64_t target = -1) {
  return ask(graph, x, noise, estimator, target).value()[0];
}

Noise gaussian(double sigma) { return {isotropic_gaussian(), sigma}; }

// Noise with the covariance [[a, b], [b, c]].
Noise correlated(double a, double b, double c) { return {covariance_gaussian({{2, 2}, {a, b, b, c}, "C"}, "C"), 1}; }

TEST(Quadrature, IsPhiForTwoClasses) {
  const Graph graph = test::linear_classifier(Tensor({2, 2}, {1, 2, 0, 0}), Tensor({2}, {0.5F, 0}));
  for (const double z : {0.0, 0.3, 1.0, 3.0, 5.0, 6.5, 7.5}) {
    // z = (x + 2 y + 0.5) / (sigma sqrt 5)
    const auto x = static_cast<float>(z * std::sqrt(5.0) * 0.25 - 0.5);
    const double exact = (double{x} + 0.5) / (0.25 * std::sqrt(5.0));
    const Estimate estimate = at(graph, {x, 0}, gaussian(0.25), "quadrature", 0);
    EXPECT_NEAR(estimate.p, normal::cdf(exact), 2e-6) << z;
    EXPECT_NEAR(estimate.p_fail / normal::complement(exact), 1, z < 7 ? 2e-4 : 2e-3) << z;
    EXPECT_EQ(estimate.forwards, 257 * 257);
    EXPECT_EQ(estimate.backwards, 0);
    EXPECT_EQ(estimate.status, Status::ok) << z;
    EXPECT_FALSE(estimate.std_error);
  }
}

TEST(Quadrature, SupportsCovariances) {
  const Graph graph = test::linear_classifier(Tensor({2, 2}, {1, 2, 0, 0}), Tensor({2}));
  const Estimate estimate = at(graph, {1, 0.5F}, correlated(0.5, 0.4, 1), "quadrature");
  const double z = 2 / std::sqrt(0.5 + 4 * 0.4 + 4);
  EXPECT_NEAR(estimate.p, normal::cdf(z), 2e-6);
  EXPECT_NEAR(estimate.p_fail, normal::complement(z), 2e-6);
  // One normal variable in two elements.
  const Noise line{factor_gaussian({{2, 1}, {1, 1}, "F"}, "F"), 0.5};
  const Estimate on_line = at(graph, {1, 0.5F}, line, "quadrature:64");
  EXPECT_NEAR(on_line.p_fail / normal::complement(2 / 1.5), 1, 1e-6);
  EXPECT_EQ(on_line.forwards, 65);
}

TEST(Quadrature, IsTheOrthantForManyClasses) {
  const Tensor W({5, 2}, {0, 0, 1, 0.3F, -1, 0.4F, 0.2F, 1, -0.1F, -1});
  const Tensor b({5}, {1, 0, 0.1F, -0.2F, 0.3F});
  const Graph graph = test::linear_classifier(W, b);
  const Estimate taylor = at(graph, {0.1F, -0.2F}, gaussian(0.7), "taylor"),
                 grid = at(graph, {0.1F, -0.2F}, gaussian(0.7), "quadrature");
  EXPECT_NEAR(grid.p, taylor.p, 1e-5);
  EXPECT_NEAR(grid.p + grid.p_fail, 1, 1e-12);
}

TEST(Quadrature, ALineOfOneElement) {
  const Graph graph = test::linear_classifier(Tensor({3, 1}, {0, 1, -1}), Tensor({3}, {1, 0, 0}));
  const Estimate estimate = at(graph, {0}, gaussian(0.5), "quadrature:32");  // clipped to -1 .. 1
  EXPECT_NEAR(estimate.p, normal::interval(-2, 2), 1e-7);
  EXPECT_NEAR(estimate.p_fail, 2 * normal::complement(2), 1e-7);
  const Estimate rare = at(graph, {0}, gaussian(1 / 6.3), "quadrature:32");
  EXPECT_NEAR(rare.p_fail / (2 * normal::complement(6.3)), 1, 1e-5);
}

// The share of a square above a line, and the tail of the sum of two Laplace variables: P[S > s] = e^-s (2 + s) / 4.
TEST(Quadrature, SupportsUniformAndLaplaceNoise) {
  const Graph graph = test::linear_classifier(Tensor({2, 2}, {1, 1, 0, 0}), Tensor({2}));
  for (const float x : {0.5F, 1.0F, 1.5F}) {
    const Estimate square = at(graph, {x, 0}, {uniform_noise(), 1}, "quadrature"),
                   sum = at(graph, {x, 0}, {laplace_noise(), 0.5}, "quadrature");
    EXPECT_NEAR(square.p_fail, (2 - x) * (2 - x) / 8, 6e-5) << x;
    EXPECT_NEAR(sum.p_fail, std::exp(-2 * x) * (2 + 2 * x) / 4, 6e-5) << x;
  }
}

// A network with a curved boundary, whose p has no closed form.
Graph bent_network() {
  const MadeData data = make_data(made_data_kind("moons"), {.count = 300, .noise = 0.15});
  Trainer trainer(mlp({data.x.shape[1]}, {16}, 2, Activation::tanh), data.x, data.labels);
  trainer.epochs(40, {.rate = 1e-2});
  return trainer.classifier();
}

TEST(Quadrature, AgreesWithSamplingOnANetwork) {
  const Graph graph = bent_network();
  for (const std::vector<float>& x : {std::vector<float>{0.4F, 0.1F}, {-0.5F, 0.5F}, {0.9F, -0.6F}}) {
    for (const Noise& noise : {gaussian(0.3), correlated(0.2, -0.1, 0.1), Noise{uniform_noise(), 0.5},
                               Noise{laplace_noise(), 0.2}, Noise{clipped(laplace_noise(), {-0.6, 0.5}), 0.2}}) {
      const Estimate truth = at(graph, x, noise, "quadrature"), sampled = at(graph, x, noise, "mc:200000");
      EXPECT_NEAR(truth.p, sampled.p, 4.5 * *sampled.std_error + 1e-9);
      EXPECT_EQ(truth.status, Status::ok);
    }
  }
}

// A coarse grid is refined near the boundary. A fine grid is not, and agrees with the coarse one.
TEST(Quadrature, CoarseGridsAddNodesUntilTheyAgreeWithFineOnes) {
  const Graph graph = bent_network();
  const auto by = [&](int cells) { return at(graph, {0.4F, 0.1F}, gaussian(0.4), "quadrature:" + std::to_string(cells)); };
  const Estimate truth = by(2048);
  EXPECT_EQ(truth.forwards, 2049 * 2049);
  for (const int cells : {32, 64}) {
    const Estimate estimate = by(cells);
    const std::int64_t nodes = (cells + 1) * (cells + 1);
    EXPECT_EQ(estimate.status, Status::ok) << cells;
    EXPECT_NEAR(estimate.p_fail, truth.p_fail, 1e-4) << cells;
    EXPECT_GT(estimate.forwards, nodes);
    EXPECT_LE(estimate.forwards, 2 * nodes);
  }
}

// f_0 - f_1 = |x - centre| - radius, summed over the elements of x: class 1 wins near the centre.
Graph island(const std::vector<float>& centre, float radius) {
  Graph g;
  const auto d = static_cast<std::int64_t>(centre.size());
  const ValueId x = append_input(g, {d}, Extent::example, "x");
  const ValueId away = append(g, Op::absolute, {build::subtract(g, x, append_constant(g, Tensor({d}, centre)))});
  Tensor weights({d, 2});
  for (std::int64_t e = 0; e < d; ++e) weights.data[2 * e] = 1;
  const ValueId sum = build::matmul(g, build::reshape(g, away, {1, d}), append_constant(g, weights));
  g.outputs = {build::reshape(g, build::subtract(g, sum, append_constant(g, Tensor({1, 2}, {radius, 0}))), {2})};
  return g;
}

// At all nodes of the grids, which are a quarter apart, the prediction is the target, but the margins dip between them.
TEST(Quadrature, FindsRegionsBetweenNodesThatMarginsPointAt) {
  const Estimate line = at(island({0.03F}, 0.02F), {0}, gaussian(1), "quadrature:64", 0);
  EXPECT_NEAR(line.p_fail / normal::interval(0.01, 0.05), 1, 1e-2);
  EXPECT_EQ(line.status, Status::ok);
  EXPECT_GT(line.forwards, 65);
  const Estimate plane = at(island({0.13F, 0.12F}, 0.05F), {0, 0}, gaussian(1), "quadrature:64", 0);
  EXPECT_NEAR(plane.p_fail / (2 * 0.05 * 0.05 * normal::pdf(0.13) * normal::pdf(0.12)), 1, 1e-2);
  EXPECT_EQ(plane.status, Status::ok);
}

TEST(Quadrature, ReportsAGridThatIsTooCoarse) {
  const Estimate estimate = at(bent_network(), {0.4F, 0.1F}, gaussian(3), "quadrature:8");
  EXPECT_EQ(estimate.status, Status::inexact);
}

// The accuracy that a row claims: the number in its note or, without one, the accuracy of `ok`.
double claimed(const Estimate& estimate) {
  const std::string known = "known to about ";
  return estimate.status == Status::inexact ? std::stod(estimate.note.substr(known.size())) : 1e-4;
}

// A tree's margins jump, and so do a network's on inputs with few levels; weights multiplied by 30 make margins steep. What
// cells with jumps miss between their nodes does not shrink when they are halved.
TEST(Quadrature, TheErrorIsNoLargerThanClaimed) {
  const MadeData rings = make_data(made_data_kind("rings"), {.count = 300, .noise = 0.1}),
                 spirals = make_data(made_data_kind("spirals"), {.count = 300, .noise = 0.1});
  const auto classes = [](const MadeData& data) { return *std::max_element(data.labels.begin(), data.labels.end()) + 1; };
  const auto tree = [&](const MadeData& data, int depth) { return decision_tree(data.x, data.labels, classes(data), depth); };
  const Graph steep = test::linear_classifier(Tensor({3, 2}, {0, 0, 30, 9, -30, 12}), Tensor({3}, {20, 0, 3}));
  const std::pair<Graph, Noise> cases[] = {{tree(rings, 3), gaussian(0.3)},
                                           {tree(rings, 3), gaussian(1)},
                                           {tree(spirals, 20), gaussian(0.3)},
                                           {random_forest(spirals.x, spirals.labels, classes(spirals), {}), gaussian(0.5)},
                                           {bent_network(), {clipped(isotropic_gaussian(), {-2, 2, 9}), 0.3}},
                                           {bent_network(), gaussian(1)},
                                           {steep, gaussian(0.5)}};
  std::size_t number = 0;
  for (const auto& [graph, noise] : cases) {
    for (const std::vector<float>& x : {std::vector<float>{0.4F, 0.1F}, {-0.5F, 0.5F}, {0.9F, -0.6F}}) {
      const Estimate estimate = at(graph, x, noise, "quadrature:32");
      const double truth = at(graph, x, noise, "quadrature:512").p;
      EXPECT_LE(std::fabs(estimate.p - truth), claimed(estimate)) << "case " << number;
    }
    ++number;
  }
}

TEST(Quadrature, TiesGoToTheLowestIndex) {
  const Graph graph = test::linear_classifier(Tensor({2, 2}), Tensor({2}));
  EXPECT_EQ(at(graph, {0, 0}, gaussian(1), "quadrature:16", 0).p, 1);
  EXPECT_EQ(at(graph, {0, 0}, gaussian(1), "quadrature:16", 1).p, 0);
  EXPECT_EQ(at(graph, {0, 0}, gaussian(1), "quadrature:16", 1).p_fail, 1);
}

TEST(Quadrature, OneClassIsAlwaysKept) {
  const Estimate estimate = at(test::linear_classifier(Tensor({1, 2}), Tensor({1})), {0, 0}, gaussian(1), "quadrature:16");
  EXPECT_EQ(estimate.p, 1);
  EXPECT_EQ(estimate.p_fail, 0);
}

TEST(Quadrature, TwoNoisyColumnsOfManyAreAPlaneToo) {
  const Graph graph = test::linear_classifier(Tensor({2, 4}, {0, 1, 0, 2, 0, 0, 0, 0}), Tensor({2}));
  const Estimate estimate = at(graph, {5, 1, -5, 0}, parse_noise("gaussian:0.5@1,3"), "quadrature");
  EXPECT_NEAR(estimate.p, normal::cdf(1 / (0.5 * std::sqrt(5.0))), 2e-6);
}

TEST(Quadrature, RejectsMoreThanTwoDimensions) {
  const Graph plane = test::linear_classifier(Tensor({2, 2}, {1, 0, 0, 1}), Tensor({2}));
  const Graph space = test::linear_classifier(Tensor({2, 3}, {1, 0, 0, 0, 1, 0}), Tensor({2}));
  const auto refusal = [](const Result<std::vector<Estimate>>& result) {
    return result ? ErrorCode::numerical : result.error().code;
  };
  EXPECT_EQ(refusal(ask(space, {1, 0, 0}, gaussian(1), "quadrature")), ErrorCode::usage);
  EXPECT_EQ(refusal(ask(plane, {1, 0}, {categorical_noise({{{0, 1}, {0.6, 0.4, 0.3, 0.7}}}, "J"), 1}, "quadrature")),
            ErrorCode::usage);
  EXPECT_EQ(refusal(ask(plane, {1, 0}, gaussian(1), "quadrature:17")), ErrorCode::usage);
  EXPECT_EQ(refusal(ask(plane, {1, 0}, gaussian(1), "quadrature:5000")), ErrorCode::usage);
  EXPECT_THROW(parse_estimator("quadrature:4"), Error);
  EXPECT_EQ(parse_estimator("quadrature").text(), "quadrature:256");
}

}  // namespace
}  // namespace probust
