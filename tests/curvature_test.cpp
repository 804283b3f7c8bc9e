// SPDX-License-Identifier: MIT
// Curvature of smoothed margins and of quadratic boundaries, compared with known values.
#include "probust/analysis/geometry/curvature.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "probust/analysis/geometry/smoothed_curvature.h"
#include "probust/autodiff/vjp.h"
#include "probust/exec/executor.h"
#include "probust/normal/univariate.h"
#include "probust/train/models.h"
#include "support/known_problems.h"
#include "support/networks.h"

namespace probust {
namespace {

// Class 0 wins if sum a_e x_e² > -1.
Graph quadratic(const std::vector<float>& a) {
  Graph g;
  const auto d = static_cast<std::int64_t>(a.size());
  const ValueId x = append_input(g, {d}, Extent::example, "x");
  const ValueId terms = build::multiply(g, append_constant(g, Tensor({d}, a)), build::multiply(g, x, x));
  const ValueId sum = build::reshape(g, build::reduce_sum(g, terms, {0}), {1});
  g.outputs = {test::two_logits(g, build::add(g, sum, append_constant(g, Tensor({1}, {1.0F}))))};
  return g;
}

// max(w x + b, 0).
Graph one_rectifier(const std::vector<float>& w, float b) {
  Graph g;
  const auto d = static_cast<std::int64_t>(w.size());
  const ValueId x = append_input(g, {d}, Extent::example, "x");
  const ValueId terms = build::multiply(g, append_constant(g, Tensor({d}, w)), x);
  const ValueId line =
      build::add(g, build::reshape(g, build::reduce_sum(g, terms, {0}), {1}), append_constant(g, Tensor({1}, {b})));
  g.outputs = {test::two_logits(g, append(g, Op::relu, {line}))};
  return g;
}

struct OnePoint {
  std::unique_ptr<Executor> executor;
  Points points;
};

OnePoint at(const Graph& graph, const std::vector<float>& x, std::int64_t target = 0) {
  OnePoint one{make_executor("cpu", graph, {}).value(), {}};
  one.points.x = Tensor({1, static_cast<std::int64_t>(x.size())}, x);
  one.points.index = {0};
  one.points.target = {target};
  return one;
}

TEST(SmoothedCurvatureTest, AQuadraticHasItsHessian) {
  const OnePoint one = at(quadratic({3, 1, 0.5F, 0, -1, -2}), {0.3F, 0.1F, -0.2F, 0, 0.1F, 0.2F});
  const SmoothedCurvature found = smoothed_curvature(*one.executor, one.points, 0.3).value().front();
  EXPECT_EQ(found.rival, 1);
  EXPECT_NEAR(found.largest.value, 6, 0.01);
  EXPECT_NEAR(found.smallest.value, -4, 0.01);
  EXPECT_LT(found.largest.std_error, 1e-4);
  EXPECT_NEAR(found.mean.value, 0.5, 4 * found.mean.std_error);
  EXPECT_GT(found.mean.std_error, 0.01);
  EXPECT_LT(found.mean.std_error, 0.2);
}

// E max(w x + b + w eps, 0) has the Hessian w wᵀ phi(m / (sigma |w|)) / (sigma |w|), m = w x + b.
TEST(SmoothedCurvatureTest, ARectifierHasItsClosedForm) {
  const std::vector<float> w{1.2F, -0.5F, 0.3F, 0, 2};
  const double length = std::sqrt(1.44 + 0.25 + 0.09 + 4), sigma = 0.25;
  for (const float b : {0.0F, 0.4F, -0.5F}) {
    OnePoint one = at(one_rectifier(w, b), {0, 0, 0, 0, 0});
    const SmoothedCurvature found =
        smoothed_curvature(*one.executor, one.points, sigma, {.pairs = 4000, .gradient_samples = 64, .iterations = 5})
            .value()
            .front();
    const double expected = length * normal::pdf(b / (sigma * length)) / sigma;
    EXPECT_NEAR(found.largest.value, expected, 4 * found.largest.std_error + 0.01 * expected) << b;
    EXPECT_LT(found.largest.std_error, 0.03 * expected);
    EXPECT_NEAR(found.smallest.value, 0, 0.02 * expected + 4 * found.smallest.std_error);
    EXPECT_NEAR(found.mean.value, expected / 5, 4 * found.mean.std_error) << b;
    // Without noise, there is no curvature, and the propositions do not apply.
    const QuadraticBound bound = quadratic_bounds(*one.executor, one.points, sigma).value().front();
    EXPECT_FALSE(bound.defined);
  }
}

// The margin over class 1 is 2 with a slope of 4; the margin over class 2 is 1 with a slope of 1.
TEST(SmoothedCurvatureTest, TheNearestRivalIsTheOneWithTheSmallestZ) {
  const OnePoint one = at(test::linear_classifier(Tensor({3, 2}, {0, 0, 4, 0, 0, 1}), Tensor({3}, {2, 0, 1})), {0, 0});
  const SmoothedCurvature found = smoothed_curvature(*one.executor, one.points, 0.1).value().front();
  EXPECT_EQ(found.rival, 1);
  EXPECT_NEAR(found.gradient_norm, 4, 1e-4);
  EXPECT_NEAR(found.margin, 2, 0.2);
  EXPECT_NEAR(found.largest.value, 0, 1e-2);
  EXPECT_NEAR(found.smallest.value, 0, 1e-2);
}

TEST(SmoothedCurvatureTest, RejectsUnsupportedModelsAndOptions) {
  const OnePoint one = at(quadratic({1, 2}), {0.1F, 0.2F});
  EXPECT_FALSE(smoothed_curvature(*one.executor, one.points, 0));
  EXPECT_FALSE(smoothed_curvature(*one.executor, one.points, 0.1, {.pairs = 1}));
  Graph g;
  const ValueId x = append_input(g, {2}, Extent::example, "x");
  g.outputs = {append(g, Op::sign, {x})};
  const OnePoint flat = at(g, {0.1F, 0.2F});
  const auto refused = smoothed_curvature(*flat.executor, flat.points, 0.1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

TEST(PiecewiseLinear, IsRecognisedFromTheGraph) {
  EXPECT_TRUE(is_piecewise_linear(classifier_of(mlp({3}, {}, 2))));
  EXPECT_TRUE(is_piecewise_linear(classifier_of(mlp({3}, {4, 4}, 2))));
  EXPECT_TRUE(is_piecewise_linear(classifier_of(cnn({1, 16, 16}, 3))));
  EXPECT_TRUE(is_piecewise_linear(test::right_angle(0.1F, 0.2F)));
  EXPECT_FALSE(is_piecewise_linear(classifier_of(mlp({3}, {4}, 2, Activation::tanh))));
  EXPECT_FALSE(is_piecewise_linear(classifier_of(cnn({1, 16, 16}, 3, Activation::gelu))));
  EXPECT_FALSE(is_piecewise_linear(quadratic({1, 2})));
}

// On the sphere |x| = 1 in three dimensions, with class 1 outside, the Taylor estimate is 1/2. The truth exceeds it by more
// than the product in the paper, with the paper's constant, and by less than the sum.
TEST(QuadraticBoundTest, TheProductIsNoBoundAndTheSumIs) {
  for (const double sigma : {0.05, 0.1, 0.2}) {
    OnePoint one = at(test::ball(3, 1), {0.6F, 0.8F, 0}, 1);
    const QuadraticBound bound = quadratic_bounds(*one.executor, one.points, sigma).value().front();
    const double error = test::outside_ball(1, 1, sigma) - 0.5;
    EXPECT_TRUE(bound.defined);
    EXPECT_NEAR(bound.k, normal::pdf(0), 1e-6);
    EXPECT_LT(bound.k * bound.taylor, error);
    EXPECT_GT(bound.summed, error);
    EXPECT_NEAR(bound.summed, normal::pdf(0) * sigma * 3 / 2, 1e-3);
  }
}

// Row e of A for the margin of class t over class i: half the derivative of grad g_i with respect to element e.
Eigen::MatrixXd half_hessian(const Graph& graph, const Tensor& x, std::int64_t t, std::int64_t i) {
  const Vjp first = vjp(graph, graph.outputs, graph.inputs());
  const Vjp second = vjp(first.graph, first.gradients, graph.inputs());
  Tensor seed({graph[graph.outputs[0]].shape[0]});
  seed.data[t] = 1;
  seed.data[i] = -1;
  const std::int64_t d = x.size();
  Eigen::MatrixXd A(d, d);
  for (std::int64_t e = 0; e < d; ++e) {
    Tensor direction({d});
    direction.data[e] = 1;
    const Tensor row = test::evaluate(second.graph, {x, seed, direction}).back();
    for (std::int64_t k = 0; k < d; ++k) A(e, k) = double{row.data[k]} / 2;
  }
  return A;
}

// Lanczos iterations find the eigenvalue of largest modulus of a dense Hessian to the stated 0.1%; few products do not, and this
// is said.
TEST(QuadraticBoundTest, TheEigenvalueIsThatOfTheDenseHessian) {
  const Graph graph = classifier_of(mlp({24}, {12}, 3, Activation::tanh, {7}));
  std::mt19937 random(3);
  const Tensor x = test::random_tensor({24}, random, -0.5F, 0.5F);
  const OnePoint one = at(graph, x.data);
  const QuadraticBound bound = quadratic_bounds(*one.executor, one.points, 0.1, 1e-3).value().front();
  EXPECT_TRUE(bound.converged);
  for (std::int64_t rival = 1; rival < 3; ++rival) {
    const Eigen::VectorXd values = symmetric_eigenvalues(half_hessian(graph, x, 0, rival));
    const double expected = -values[0] > values[23] ? values[0] : values[23];
    EXPECT_NEAR(bound.lambda_max[rival - 1], expected, 2e-3 * std::abs(expected)) << rival;
  }
  EXPECT_FALSE(quadratic_bounds(*one.executor, one.points, 0.1, 1e-3, 2).value().front().converged);
  EXPECT_FALSE(quadratic_bounds(*one.executor, one.points, 0.1, 1e-3, 0));
}

// The eigenvalues 2, 1.98, 1.96, ... are so close that twelve power iterations stop several percent below the largest.
TEST(QuadraticBoundTest, CloseEigenvaluesDoNotLowerTheLargest) {
  std::vector<float> a;
  for (int k = 0; k < 60; ++k) a.push_back(2 - 0.02F * static_cast<float>(k));
  const OnePoint one = at(quadratic(a), std::vector<float>(60, 0.1F));
  const QuadraticBound bound = quadratic_bounds(*one.executor, one.points, 0.1).value().front();
  EXPECT_TRUE(bound.converged);
  EXPECT_TRUE(bound.defined);
  EXPECT_NEAR(bound.lambda_max[0], 2, 4e-3);
}

}  // namespace
}  // namespace probust
