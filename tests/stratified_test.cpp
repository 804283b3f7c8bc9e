// SPDX-License-Identifier: MIT
// Stratified Monte Carlo: unbiased for any model, more accurate if gradients are informative, and with honest intervals.
#include <gtest/gtest.h>

#include <cmath>

#include "probust/estimators/estimator.h"
#include "probust/normal/univariate.h"
#include "probust/ops/append.h"
#include "support/known_problems.h"
#include "support/networks.h"

namespace probust {
namespace {

struct Problem {
  Graph graph;
  std::vector<float> x;
  Noise noise;
  Event event = {};
  std::int64_t target = 0;

  // Estimates at one point, one for each of `seeds` seeds.
  std::vector<Estimate> ask(const std::string& text, std::uint64_t seeds, const ExecutorOptions& options = {}) const {
    const auto executor = make_executor("cpu", graph, options).value();
    Shape shape = executor->point_shape();
    shape.insert(shape.begin(), 1);
    std::vector<Estimate> result;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const Points point{Tensor(shape, x), {3}, {target}, seed};
      Evaluation evaluation(*executor, point, executor->logits(point.x).value(), event);
      result.push_back(estimate(evaluation, noise, parse_estimator(text)).value()[0]);
    }
    return result;
  }
};

struct Scatter {
  double mean = 0, variance = 0, covered = 0;
};

Scatter about(const std::vector<Estimate>& estimates, double truth) {
  Scatter scatter;
  const auto n = static_cast<double>(estimates.size());
  for (const Estimate& one : estimates) {
    scatter.mean += one.p / n;
    scatter.variance += (one.p - truth) * (one.p - truth) / n;
    scatter.covered += *one.ci_low <= truth && truth <= *one.ci_high ? 1 / n : 0;
  }
  return scatter;
}

// Along the only gradient of a linear model, only the samples in the stratum at the boundary are random.
TEST(Stratified, IsNearlyExactOnALine) {
  const Problem line{
      test::linear_classifier(Tensor({2, 3}, {1, 2, 2, 0, 0, 0}), Tensor({2})), {0.1F, 0.2F, 0}, {isotropic_gaussian(), 0.3}};
  const double truth = normal::cdf(0.5 / 0.9);
  for (const Estimate& one : line.ask("mc:200:stratified", 10)) {
    EXPECT_NEAR(one.p, truth, 1.0 / 200);
    EXPECT_LE(*one.ci_low, truth);
    EXPECT_GE(*one.ci_high, truth);
    EXPECT_LT(*one.ci_high - *one.ci_low, 0.06);  // it would be 0.13 for mc:200
    EXPECT_EQ(one.forwards, 201);
    EXPECT_EQ(one.backwards, 2);
    EXPECT_EQ(one.p + one.p_fail, 1);
  }
}

// Over 400 seeds, means are within four standard errors, and intervals cover the truth.
TEST(Stratified, HasNoBiasAndCovers) {
  const auto correlated = covariance_gaussian({{3, 3}, {1, 0.8, 0, 0.8, 1, 0, 0, 0, 0.1}, ""}, "gaussian:cov=file");
  const Problem problems[] = {
      {test::linear_classifier(Tensor({3, 3}, {1, 0, 0, -1, 1, 0, 0, -2, 1}), Tensor({3})), {0.5F, 0.1F, 0}, {correlated, 0.7}},
      {test::ball(3, 1), {0.5F, 0.2F, 0}, {isotropic_gaussian(), 0.4}},
      {test::annulus(3, 0.5F, 1.2F), {0.7F, 0, 0}, {isotropic_gaussian(), 0.4}},
      {test::linear_classifier(Tensor({2, 3}, {1, 1, 1, 0, 0, 0}), Tensor({2}, {-1, 0})),
       {0.5F, 0.5F, 0.5F},
       {clipped(isotropic_gaussian(), {0, 1, 0}), 0.4}},
  };
  for (const Problem& problem : problems) {
    const double truth = problem.ask("mc:400000", 1)[0].p;
    for (const int n : {20, 51, 200}) {
      const auto estimates = problem.ask("mc:" + std::to_string(n) + ":stratified", 400);
      const Scatter scatter = about(estimates, truth);
      EXPECT_NEAR(scatter.mean, truth, 4 * std::sqrt(scatter.variance / 400) + 0.002) << n;
      EXPECT_LT(scatter.variance, 1.25 * truth * (1 - truth) / n) << n;
      EXPECT_GE(scatter.covered, 0.93) << n << ' ' << truth;
    }
  }
}

TEST(Stratified, ReducesTheVarianceOfACurvedModel) {
  const Problem ball{test::ball(3, 1), {0.8F, 0, 0}, {isotropic_gaussian(), 0.15}};
  const double truth = 1 - test::outside_ball(0.8, 1, 0.15);
  const double plain = about(ball.ask("mc:100", 200), truth).variance,
               ours = about(ball.ask("mc:100:stratified", 200), truth).variance;
  EXPECT_LT(ours, 0.5 * plain) << ours / plain;
}

TEST(Stratified, IsTheSameForAnyThreadsAndMemory) {
  const Problem cnn{test::small_cnn(), std::vector<float>(64, 0.1F), {isotropic_gaussian(), 0.4}, {}, 2};
  const Estimate one = cnn.ask("mc:3000:stratified", 1)[0],
                 other = cnn.ask("mc:3000:stratified", 1, {.threads = 3, .memory = 1 << 18})[0];
  EXPECT_EQ(one.p, other.p);
  EXPECT_EQ(*one.std_error, *other.std_error);
  EXPECT_NEAR(one.p, cnn.ask("mc:20000", 1)[0].p, 0.04);
}

TEST(Stratified, SupportsEventsAndModelsWithoutGradients) {
  const Tensor weights({3, 2}, {1, 0, -1, 1, 0, -2});
  Problem problem{test::linear_classifier(weights, Tensor({3})), {0.4F, 0.1F}, {isotropic_gaussian(), 0.7}};
  for (const Event& event : {Event{{0, 0, 1}, false, 1}, Event{{}, false, 2}}) {
    problem.event = event;
    EXPECT_NEAR(problem.ask("mc:4000:stratified", 1)[0].p, problem.ask("mc:40000", 1)[0].p, 0.025);
  }
  Graph steps;
  steps.outputs = {test::two_logits(steps, append(steps, Op::sign, {append_input(steps, {1}, Extent::example, "x")}))};
  const Problem step{steps, {0.5F}, {isotropic_gaussian(), 1}};
  const Estimate sign = step.ask("mc:4000:stratified", 1)[0];
  EXPECT_NEAR(sign.p, normal::cdf(0.5), 0.03);
  EXPECT_EQ(sign.backwards, 0);
  const Problem flat{test::linear_classifier(Tensor({2, 1}), Tensor({2}, {1, 0})), {0.5F}, {isotropic_gaussian(), 1}};
  EXPECT_EQ(flat.ask("mc:10:stratified", 1)[0].p, 1);
}

TEST(Stratified, RejectsNoiseThatIsNotAFunctionOfNormals) {
  const auto categories = categorical_noise({{{0, 1}, {0.6, 0.4, 0.3, 0.7}}}, "J");
  const auto executor = make_executor("cpu", test::ball(3, 1), {}).value();
  const Points point{Tensor({1, 3}), {0}, {0}, 0};
  Evaluation evaluation(*executor, point, executor->logits(point.x).value());
  const auto refused = estimate(evaluation, {categories, 1}, parse_estimator("mc:10:stratified"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  EXPECT_NE(refused.error().message().find("use mc:N"), std::string::npos);
  EXPECT_EQ(parse_estimator("mc:10:stratified").text(), "mc:10:stratified");
  EXPECT_THROW((void)parse_estimator("mc:1:stratified"), Error);
}

}  // namespace
}  // namespace probust
