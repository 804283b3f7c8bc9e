// SPDX-License-Identifier: MIT
// Classifiers with very many classes: gradients through the last layer, rivals that cannot matter, errors for lack of memory,
// and computations that stop on request.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numeric>

#include "probust/estimators/common.h"
#include "probust/exec/host/head_margins.h"
#include "probust/normal/multivariate.h"
#include "probust/normal/univariate.h"
#include "probust/ops/append.h"
#include "probust/perturb/noise_text.h"
#include "probust/run/run.h"
#include "support/networks.h"

namespace probust {
namespace {

constexpr std::int64_t kInputs = 6, kWidth = 12, kFew = 40, kMany = 600;

// x [6] -> tanh [12] -> the first `classes` of 600 classes. The logits of the first few do not depend on `classes`.
Graph perceptron(std::int64_t classes) {
  std::mt19937 random(8);
  Graph g;
  const ValueId x = append_input(g, {kInputs}, Extent::example, "x");
  const Tensor first = test::random_tensor({kInputs, kWidth}, random);
  const Tensor all = test::random_tensor({kMany, kWidth}, random), shifts = test::random_tensor({kMany}, random, -0.1F, 0.1F);
  Tensor last({classes, kWidth}), bias(Shape{classes});
  std::copy_n(all.data.begin(), last.size(), last.data.begin());
  std::copy_n(shifts.data.begin(), classes, bias.data.begin());
  const ValueId h = append(g, Op::tanh, {build::matmul(g, build::reshape(g, x, {1, kInputs}), append_constant(g, first))});
  const ValueId product = build::reshape(g, build::matmul(g, h, append_constant(g, last), false, true), {classes});
  g.outputs = {build::add(g, product, append_constant(g, bias))};
  return g;
}

Points some_points() {
  std::mt19937 random(9);
  Points points{test::random_tensor({3, kInputs}, random), {0, 1, 2}, {4, 0, 17}, 5};
  return points;
}

// The rows of the margins over classes below kFew: all margins of a classifier with kFew classes.
std::vector<std::int64_t> first_rows() {
  std::vector<std::int64_t> rows(kFew - 1);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

// Covariance of the margins in `rows` over the noisy samples.
Eigen::MatrixXd sample_covariance(const Linearization& linear, const std::vector<std::int64_t>& rows) {
  const Eigen::MatrixXd some = linear.sampled(rows, Eigen::all), centred = some.colwise() - some.rowwise().mean();
  return centred * centred.transpose() / static_cast<double>(some.cols() - 1);
}

double distance(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) { return (a - b).norm() / b.norm(); }

TEST(ManyClasses, GradientsThroughTheLastLayerAreTheMarginsOwn) {
  ASSERT_TRUE(split_head(perceptron(kMany)).has_value());
  ASSERT_FALSE(split_head(perceptron(kFew)).has_value());
  const auto many = make_executor("cpu", perceptron(kMany), {}).value(), few = make_executor("cpu", perceptron(kFew), {}).value();
  EXPECT_EQ(many->backwards_to_linearize(), kWidth);
  EXPECT_EQ(few->backwards_to_linearize(), kFew - 1);
  const Points points = some_points();
  const std::vector<std::int64_t> rows = first_rows();
  const Noise noise = parse_noise("gaussian:0.2");
  for (const Linearizing& how : {at_points(noise), under_noise(noise), over_samples(noise, 9)}) {
    SCOPED_TRACE(how.key);
    const auto whole = how.ask(*few, points), cut = how.ask(*many, points);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      ASSERT_TRUE(cut[i].last);
      EXPECT_EQ(cut[i].rivals(), kMany - 1);
      EXPECT_LT(distance(cut[i].margins.head(kFew - 1), whole[i].margins), 1e-5);
      EXPECT_LT(distance(cut[i].variances().head(kFew - 1), whole[i].variances()), 1e-5);
      EXPECT_LT(distance(cut[i].covariance(rows), whole[i].covariance(rows)), 1e-5);
      if (how.samples == 0) continue;
      EXPECT_LT(distance(sample_covariance(cut[i], rows), sample_covariance(whole[i], rows)), 1e-5);
      EXPECT_LT(distance(cut[i].along_mean.topRows(kFew - 1), whole[i].along_mean), 1e-4);
      EXPECT_LT(distance(cut[i].along_own.topRows(kFew - 1), whole[i].along_own), 1e-4);
    }
  }
}

TEST(ManyClasses, AnotherTargetHasItsOwnMargins) {
  const auto executor = make_executor("cpu", perceptron(kMany), {}).value();
  Points points = some_points();
  const auto before = executor->linearize(points, *parse_noise("gaussian:1").shape).value();
  const std::vector<std::int64_t> targets = points.target;
  points.target = {17, 599, 0};
  const auto asked = executor->linearize(points, *parse_noise("gaussian:1").shape).value();
  const std::vector<std::int64_t> rows{0, 3, 18, 400, 598};
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Linearization turned = retargeted(before[i], targets[i], points.target[i]);
    EXPECT_LT(distance(turned.margins, asked[i].margins), 1e-6);
    EXPECT_LT(distance(turned.variances(), asked[i].variances()), 1e-6);
    EXPECT_LT(distance(turned.covariance(rows), asked[i].covariance(rows)), 1e-6);
  }
}

// With 600 classes, every estimator that uses gradients agrees with counting.
TEST(ManyClasses, EstimatesAgreeWithCounting) {
  const auto executor = make_executor("cpu", perceptron(kMany), {.threads = 2}).value();
  EstimateRequest request;
  request.x = some_points().x;
  request.noises = {parse_noise("gaussian:0.1")};
  for (const char* name : {"mc:20000", "taylor", "adf", "mmse:20", "regression:100", "probit:200", "auto:100"})
    request.estimators.push_back(parse_estimator(name));
  EstimateRun run(*executor, request);
  while (!run.step(1e9)) continue;
  const auto estimators = static_cast<std::int64_t>(request.estimators.size());
  for (std::size_t r = 0; r < run.rows().size(); ++r) {
    const Row &row = run.rows()[r], &counted = run.rows()[r - r % estimators];
    const double sampled = 4 * row.estimate.std_error.value_or(0);
    EXPECT_NEAR(row.estimate.p, counted.estimate.p, 0.06 + sampled) << row.estimator << " at " << row.index;
  }
}

// ---- dropped rivals

// Independent margins; margin i is z_i standard deviations from its boundary.
Linearization independent(const std::vector<double>& z) {
  const auto m = static_cast<Eigen::Index>(z.size());
  Linearization result;
  result.margins = Eigen::Map<const Eigen::VectorXd>(z.data(), m);
  result.gram = Eigen::MatrixXd::Identity(m, m);
  return result;
}

double tails(const std::vector<double>& z, std::span<const std::int64_t> kept) {
  double sum = 0;
  for (const double each : z) sum += normal::complement(each);
  for (const std::int64_t row : kept) sum -= normal::complement(z[row]);
  return sum;
}

TEST(ManyClasses, FarRivalsAreDroppedWithABound) {
  std::vector<double> z(1500, 9.0);
  for (std::size_t i = 0; i < 200; ++i) z[i * 7] = 2.0 + 0.01 * static_cast<double>(i);
  const NormalProblem problem = normal_problem(independent(z), 0, 1);
  EXPECT_LE(problem.rows.size(), 200U);
  EXPECT_TRUE(std::is_sorted(problem.rows.begin(), problem.rows.end()));
  EXPECT_NEAR(problem.left_out, tails(z, problem.rows), 1e-12);
  EXPECT_LE(problem.left_out, 1e-5);
  for (std::size_t k = 0; k < problem.rows.size(); ++k) EXPECT_EQ(problem.z[k], z[problem.rows[k]]);
}

TEST(ManyClasses, RareFailuresKeepTheirRelativeAccuracy) {
  std::vector<double> z(2000, 8.0);
  z[7] = 6;
  const NormalProblem problem = normal_problem(independent(z), 0, 1);
  EXPECT_LE(problem.left_out, 1e-3 * normal::complement(6.0));
  EXPECT_NEAR(problem.left_out, tails(z, problem.rows), 1e-20);
}

TEST(ManyClasses, TheNearestOfTooManyRivalsAreUsed) {
  std::vector<double> z(1200, 3.0);
  for (std::size_t i = 0; i < z.size(); ++i) z[i] += 1e-4 * static_cast<double>(i);
  const NormalProblem problem = normal_problem(independent(z), 0, 1);
  ASSERT_EQ(problem.rows.size(), kMostRivals);
  EXPECT_EQ(problem.rows.back(), 999);
  EXPECT_NEAR(problem.left_out, tails(z, problem.rows), 1e-12);
  EXPECT_GT(problem.left_out, 0.1);
}

TEST(ManyClasses, UpToAThousandRivalsAreAllUsed) {
  const NormalProblem problem = normal_problem(independent(std::vector<double>(1000, 9.0)), 0, 1);
  EXPECT_EQ(problem.rows.size(), 1000U);
  EXPECT_EQ(problem.left_out, 0);
}

TEST(ManyClasses, RareFailuresReportTheBoundOnDroppedRivals) {
  const Estimate near = from_linearization(independent(std::vector<double>(1000, 5.8)), 0, 1, NormalCdf::exact, 0);
  const Estimate most = from_linearization(independent(std::vector<double>(1400, 5.8)), 0, 1, NormalCdf::exact, 0);
  EXPECT_EQ(near.status, Status::ok);
  EXPECT_NEAR(near.p_fail, 1000 * normal::complement(5.8), 1e-2 * near.p_fail);
  EXPECT_EQ(most.status, Status::inexact);
  EXPECT_EQ(most.note, "rivals beyond the 1000 nearest may add 1.3e-06 to p_fail");
}

// The mv-sigmoid gives far rivals more weight than a normal CDF does, so none may be dropped.
TEST(ManyClasses, TheMvSigmoidTakesAllRivals) {
  std::vector<double> z(1500, 6.0);
  z[3] = 1;
  const Estimate estimate = from_linearization(independent(z), 0, 1, NormalCdf::mv_sigmoid, 0);
  EXPECT_NEAR(estimate.p, 1 / (1 + std::exp(-1.0) + 1499 * std::exp(-6.0)), 1e-12);
}

// With a last layer of zeros, or with identical classes, no margin has a gradient.
TEST(ManyClasses, WithoutAnyGradientTheEstimateIsDegenerate) {
  for (const float weight : {0.0F, 1.0F}) {
    Graph g;
    const ValueId x = append_input(g, {3}, Extent::example, "x");
    Tensor last({kMany, 3});
    std::fill(last.data.begin(), last.data.end(), weight);
    const ValueId product = build::matmul(g, build::reshape(g, x, {1, 3}), append_constant(g, last), false, true);
    g.outputs = {build::reshape(g, product, {kMany})};
    const auto executor = make_executor("cpu", g, {}).value();
    EstimateRequest request;
    request.x = Tensor({1, 3}, {1, 2, 3});
    request.noises = {parse_noise("gaussian:0.1")};
    for (const char* name : {"taylor", "taylor_mvs", "adf", "mmse:4", "mmse_mvs:4"})
      request.estimators.push_back(parse_estimator(name));
    EstimateRun run(*executor, request);
    while (!run.step(1e9)) continue;
    for (const Row& row : run.rows()) {
      EXPECT_EQ(row.estimate.status, Status::degenerate) << row.estimator;
      EXPECT_EQ(row.estimate.p, 1) << row.estimator;
    }
  }
}

// ---- memory and stopping

TEST(ManyClasses, AlgebraThatDoesNotFitTheMemoryIsRefusedAtOnce) {
  const auto executor = make_executor("cpu", perceptron(kMany), {.memory = 200 << 10}).value();
  const Points points = some_points();
  Evaluation evaluation(*executor, points, executor->logits(points.x).value());
  const auto result = estimate(evaluation, parse_noise("gaussian:0.1"), parse_estimator("mmse:1000"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::resources);
  EXPECT_NE(result.error().message().find("mc:N"), std::string::npos) << result.error().message();
  EXPECT_TRUE(estimate(evaluation, parse_noise("gaussian:0.1"), parse_estimator("taylor")));
}

// A normal probability of many variables would take seconds.
TEST(ManyClasses, ANormalProbabilityCanBeInterrupted) {
  const Eigen::Index m = 60;
  const std::vector<double> z(static_cast<std::size_t>(m), 1.0);
  std::mt19937 random(3);
  Eigen::MatrixXd U(m, m);
  for (double& entry : U.reshaped()) entry = std::uniform_real_distribution<double>(-1, 1)(random);
  U.rowwise().normalize();
  const Eigen::MatrixXd R = U * U.transpose();
  std::atomic<bool> stop{false};
  EXPECT_NE(normal::mvn_cdf(z, R, {.stop = &stop}).status, normal::Status::interrupted);
  stop = true;
  EXPECT_EQ(normal::mvn_cdf(z, R, {.stop = &stop}).status, normal::Status::interrupted);
}

}  // namespace
}  // namespace probust
