// SPDX-License-Identifier: MIT
// Events other than survival of the prediction: a place among the largest logits, and regression within a tolerance.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "probust/estimators/estimator.h"
#include "probust/estimators/tolerance.h"
#include "probust/normal/univariate.h"
#include "probust/ops/append.h"
#include "support/networks.h"

namespace probust {
namespace {

std::vector<Estimate> ask(Executor& executor, const Points& points, const Event& event, const Noise& noise,
                          const std::string& text) {
  Evaluation evaluation(executor, points, executor.logits(points.x).value(), event);
  return estimate(evaluation, noise, parse_estimator(text)).value();
}

Event top(std::int64_t k, bool per_class = false) { return {{}, per_class, k}; }

// Class 0 has no noise; logit c is x_c alone, so class c passes class 0 with probability Phi(x_c / sigma), independently.
const Graph kIndependent = test::linear_classifier(Tensor({4, 3}, {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}), Tensor({4}));

double kept_among_largest(std::int64_t k, const std::vector<double>& passes) {
  std::vector<double> passed{1};  // element n: P(n classes have passed)
  for (const double q : passes) {
    std::vector<double> next(passed.size() + 1, 0);
    for (std::size_t n = 0; n < passed.size(); ++n) {
      next[n] += passed[n] * (1 - q);
      next[n + 1] += passed[n] * q;
    }
    passed = next;
  }
  double sum = 0;
  for (std::int64_t n = 0; n < k; ++n) sum += passed[n];
  return sum;
}

TEST(Top, ASharedPlaceIsCountedByEveryFormOfMonteCarlo) {
  const auto executor = make_executor("cpu", kIndependent, {}).value();
  const Points points{Tensor({1, 3}, {-0.3F, 0.1F, -0.8F}), {4}, {0}, 3};
  const Noise noise{isotropic_gaussian(), 0.5};
  const std::vector<double> passes = {normal::cdf(-0.6), normal::cdf(0.2), normal::cdf(-1.6)};
  for (const std::int64_t k : {1, 2, 3}) {
    const double truth = kept_among_largest(k, passes);
    const Estimate counted = ask(*executor, points, top(k), noise, "mc:20000")[0];
    EXPECT_NEAR(counted.p, truth, 4.5 * *counted.std_error) << k;
    EXPECT_LE(*counted.ci_low, counted.p);
    EXPECT_EQ(counted.p + counted.p_fail, 1);
    const Estimate narrow = ask(*executor, points, top(k), noise, "mc:±0.02")[0];
    EXPECT_NEAR(narrow.p, truth, 0.05) << k;
    EXPECT_NEAR(ask(*executor, points, top(k), noise, "auto:20000")[0].p, truth, 0.02) << k;
  }
  const double second = kept_among_largest(2, passes);
  EXPECT_EQ(ask(*executor, points, top(2), noise, "mc:p>" + std::to_string(second - 0.1))[0].status, Status::decided);
  EXPECT_EQ(ask(*executor, points, top(2), noise, "mc:p>" + std::to_string(second + 0.1))[0].status, Status::decided);
  EXPECT_EQ(ask(*executor, points, top(4), noise, "mc:100")[0].p, 1);
}

TEST(Groups, ProbabilitiesOfAllClassesAddUpToOne) {
  constexpr std::int64_t kClasses = 6, kInputs = 6, kPoints = 2;
  std::mt19937 random(4);
  const Graph linear =
      test::linear_classifier(test::random_tensor({kClasses, kInputs}, random), test::random_tensor({kClasses}, random));
  const auto executor = make_executor("cpu", linear, {}).value();
  const Points points{test::random_tensor({kPoints, kInputs}, random), {0, 1}, {3, 5}, 1};
  const Noise noise{isotropic_gaussian(), 0.7};
  Event halves, nine, all;
  for (std::int64_t c = 0; c < kClasses; ++c) {
    halves.group.push_back(c % 2);
    nine.group.push_back(c == 3 ? 1 : 0);
    all.group.push_back(0);
  }
  nine.per_class = true;
  const auto counted = ask(*executor, points, halves, noise, "mc:5000");
  for (const std::string text : {"taylor", "adf", "mmse:20:centered", "taylor_mvs", "mmse_mvs:20"}) {
    const auto half = ask(*executor, points, halves, noise, text), most = ask(*executor, points, nine, noise, text);
    const auto one = ask(*executor, points, all, noise, text);
    for (std::size_t i = 0; i < kPoints; ++i) {
      EXPECT_EQ(one[i].p, 1) << text;
      EXPECT_EQ(one[i].p_fail, 0) << text;
      EXPECT_NEAR(half[i].p + half[i].p_fail, 1, 1e-15) << text;
      EXPECT_NEAR(half[i].p, counted[i].p, text.find("mvs") == std::string::npos ? 0.03 : 0.25) << text;
      EXPECT_NEAR(most[i].p + most[i].p_fail, 1, 1e-15) << text;
      EXPECT_NEAR(std::accumulate(most[i].classes.begin(), most[i].classes.end(), 0.0), 1, 1e-12) << text;
      EXPECT_NEAR(most[i].classes[3], points.target[i] == 3 ? most[i].p : most[i].p_fail, 1e-15) << text;
    }
  }
}

// Two ways of counting, which must agree exactly because the events are the same.
TEST(Top, TheFirstPlaceIsThePrediction) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  const Points points{Tensor({2, 1, 8, 8}, std::vector<float>(128, 0.1F)), {0, 7}, {2, 0}, 1};
  const Noise noise{isotropic_gaussian(), 0.4};
  const auto counts = executor->sample(points, noise, 500).value();
  const auto placed = ask(*executor, points, top(3, true), noise, "mc:500");
  for (std::size_t i = 0; i < 2; ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_GE(placed[i].classes[c], static_cast<double>(counts[i][c]) / 500);
      sum += placed[i].classes[c];
    }
    EXPECT_NEAR(sum, 3, 1e-12);
    EXPECT_EQ(placed[i].p, placed[i].classes[points.target[i]]);
  }
}

// The estimate does not depend on threads or memory.
TEST(Top, CountsAreTheSameForAnyThreadsAndMemory) {
  const Points points{Tensor({2, 1, 8, 8}, std::vector<float>(128, 0.1F)), {0, 7}, {2, 0}, 1};
  std::vector<double> p;
  for (const ExecutorOptions& options : {ExecutorOptions{}, ExecutorOptions{.threads = 3, .memory = 1 << 18}}) {
    const auto executor = make_executor("cpu", test::small_cnn(), options).value();
    for (const Estimate& one : ask(*executor, points, top(2), {isotropic_gaussian(), 0.4}, "mc:3000")) p.push_back(one.p);
  }
  EXPECT_EQ(p[0], p[2]);
  EXPECT_EQ(p[1], p[3]);
}

TEST(Top, TiesGoToTheLowerIndexAndNanFails) {
  const auto executor =
      make_executor("cpu", test::linear_classifier(Tensor({3, 1}, {0, 0, 0}), Tensor({3}, {1, 1, 1})), {}).value();
  for (const std::int64_t target : {0, 1, 2}) {
    const Points points{Tensor({1, 1}, {0.5F}), {0}, {target}, 0};
    EXPECT_EQ(ask(*executor, points, top(2), {isotropic_gaussian(), 1}, "mc:50")[0].p, target < 2 ? 1 : 0);
  }
  // log x is NaN for half of the samples around 0.
  Graph g;
  const ValueId x = append_input(g, {1}, Extent::example, "x");
  g.outputs = {append(g, Op::concat, {append(g, Op::log, {x}), append_constant(g, Tensor({2}, {-100, -200}))}, AxisAttribute{0})};
  const auto logarithm = make_executor("cpu", g, {}).value();
  const Points points{Tensor({1, 1}, {1e-6F}), {0}, {0}, 0};
  EXPECT_NEAR(ask(*logarithm, points, top(2), {isotropic_gaussian(), 1}, "mc:2000")[0].p, 0.5, 0.06);
}

TEST(Top, OtherEstimatorsAreRejectedWithAlternatives) {
  const auto executor = make_executor("cpu", kIndependent, {}).value();
  const Points points{Tensor({1, 3}), {0}, {0}, 0};
  const auto refusal = [&](const Event& event, const std::string& text) {
    Evaluation evaluation(*executor, points, executor->logits(points.x).value(), event);
    const auto result = estimate(evaluation, {isotropic_gaussian(), 1}, parse_estimator(text));
    return result ? std::string() : result.error().message();
  };
  for (const char* text : {"taylor", "adf", "mmse:3", "probit:10", "regression:20", "subset:500", "softmax"})
    EXPECT_NE(refusal(top(2), text).find("mc:N"), std::string::npos) << text;
  EXPECT_NE(refusal(top(5), "mc:10"), "");
  EXPECT_NE(refusal(top(0), "mc:10"), "");
  EXPECT_NE(refusal({{0, 0, 1, 1}, false, 2}, "mc:10"), "");
  EXPECT_NE(refusal({{}, true, 1}, "mc:±0.1"), "");
  EXPECT_EQ(refusal({{0, 0, 1, 1}, false, 1}, "mc:±0.1"), "");
}

// f(x) = w x + b, [K]. Its change is normal with the standard deviations sigma |w_k|.
struct Regression {
  explicit Regression(const Tensor& weights, const Tensor& bias, double gamma)
      : model(test::linear_classifier(weights, bias)),
        executor(make_executor("cpu", within_tolerance(model, {gamma}), {}).value()),
        outputs(weights.shape[0]) {}

  std::vector<Estimate> at(const Tensor& x, const std::shared_ptr<const NoiseShape>& shape, double sigma, const std::string& text,
                           bool per_class = false) {
    const Tensor f = make_executor("cpu", model, {}).value()->logits(x).value();
    const auto n = static_cast<std::size_t>(x.shape[0]);
    std::vector<std::int64_t> index(n, 5);
    const Points points{with_outputs(x, f), index, std::vector<std::int64_t>(n, 2 * outputs), 11};
    return ask(*executor, points, {{}, per_class}, {on_inputs(shape, x.size() / x.shape[0], outputs), sigma}, text);
  }

  Graph model;
  std::unique_ptr<Executor> executor;
  std::int64_t outputs;
};

TEST(Tolerance, IsTheIntervalOfANormalOnALinearModel) {
  Regression regression(Tensor({1, 3}, {1, -2, 2}), Tensor({1}, {100}), 0.6);
  const Tensor x({2, 3}, {0.3F, -0.7F, 4, -1, 0, 0.5F});
  for (const double sigma : {0.02, 0.1, 0.3, 2.0}) {
    const double q = 2 * normal::complement(0.6 / (3 * sigma));
    for (const char* text : {"taylor", "adf", "mmse:5:centered"}) {
      for (const Estimate& one : regression.at(x, isotropic_gaussian(), sigma, text)) {
        EXPECT_NEAR(one.p_fail / q, 1, 2e-4) << text << sigma << word(one.status);
        EXPECT_NEAR(one.p, 1 - q, 2e-5) << text << sigma;
      }
    }
  }
  const double q = 2 * normal::complement(2.0);
  for (const char* text : {"mc:20000", "probit:4000", "regression:400", "subset:4000"}) {
    const Estimate one = regression.at(x, isotropic_gaussian(), 0.1, text)[1];
    EXPECT_NEAR(one.p_fail, q, 0.015) << text;
    EXPECT_LE(*one.ci_low, 1 - q) << text;
    EXPECT_GE(*one.ci_high, 1 - q) << text;
  }
  const auto sides = regression.at(x, isotropic_gaussian(), 0.1, "taylor", true)[0].classes;
  ASSERT_EQ(sides.size(), 3U);
  EXPECT_NEAR(sides[0], q / 2, 1e-5);
  EXPECT_NEAR(sides[1], q / 2, 1e-5);
}

// On a curved model the mean change is not zero: f = x² with P(|2 x e + e²| < gamma) in closed form.
TEST(Tolerance, SupportsASkewedModel) {
  Graph square;
  const ValueId x = append_input(square, {1}, Extent::example, "x");
  square.outputs = {build::multiply(square, x, x)};
  const auto executor = make_executor("cpu", within_tolerance(square, {0.5}), {}).value();
  const Points points{with_outputs(Tensor({1, 1}, {1}), Tensor({1, 1}, {1})), {0}, {2}, 0};
  const Noise noise{on_inputs(isotropic_gaussian(), 1, 1), 0.3};
  const auto within = [](double z) { return normal::cdf((z - 1) / 0.3); };
  const double truth = within(std::sqrt(1.5)) - within(std::sqrt(0.5)) + within(-std::sqrt(0.5)) - within(-std::sqrt(1.5));
  const Estimate counted = ask(*executor, points, {}, noise, "mc:40000")[0];
  EXPECT_NEAR(counted.p, truth, 4.5 * *counted.std_error);
}

TEST(Tolerance, HoldsForSeveralOutputsAndAnyNoise) {
  // Two outputs that depend on different features: both must survive, and they are independent.
  Regression regression(Tensor({2, 2}, {1, 0, 0, 2}), Tensor({2}, {1, -1}), 0.5);
  const auto diagonal = diagonal_gaussian({{2}, {0.5, 1}, ""}, "gaussian:std=file");
  const double kept = (1 - 2 * normal::complement(0.5 / 0.2)) * (1 - 2 * normal::complement(0.5 / 0.8));
  EXPECT_NEAR(regression.at(Tensor({1, 2}, {3, 4}), diagonal, 0.4, "taylor")[0].p, kept, 1e-4);
  EXPECT_NEAR(regression.at(Tensor({1, 2}, {3, 4}), diagonal, 0.4, "mc:20000")[0].p, kept, 0.015);
  // Uniform noise is not Gaussian: counting is exact, and the status says when an estimator treats it as Gaussian.
  Regression one(Tensor({1, 1}, {2}), Tensor({1}), 0.5);
  EXPECT_NEAR(one.at(Tensor({1, 1}, {7}), uniform_noise(), 0.5, "mc:20000")[0].p, 0.5, 0.02);
  EXPECT_EQ(one.at(Tensor({1, 1}, {7}), uniform_noise(), 0.5, "taylor")[0].status, Status::approximate);
}

// A change of exactly gamma is not below it.
TEST(Tolerance, IsStrict) {
  Graph steps;
  const ValueId x = append_input(steps, {1}, Extent::example, "x");
  steps.outputs = {append(steps, Op::step, {x})};
  const auto p = [&](double gamma) {
    const auto executor = make_executor("cpu", within_tolerance(steps, {gamma}), {}).value();
    const Points points{with_outputs(Tensor({1, 1}, {0.5F}), Tensor({1, 1}, {1})), {0}, {2}, 0};
    return ask(*executor, points, {}, {on_inputs(isotropic_gaussian(), 1, 1), 1}, "mc:4000")[0].p;
  };
  EXPECT_NEAR(p(1), normal::cdf(0.5), 0.04);
  EXPECT_EQ(p(1.001), 1);
}

TEST(Tolerance, RejectsInvalidTolerances) {
  const Graph model = test::linear_classifier(Tensor({1, 1}, {1}), Tensor({1}));
  for (const double gamma : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e-60})
    EXPECT_THROW((void)within_tolerance(model, {gamma}), Error) << gamma;
}

TEST(Tolerance, OutputsHaveTheirOwn) {
  const Graph model = test::linear_classifier(Tensor({2, 2}, {1, 0, 0, 2}), Tensor({2}));
  const auto executor = make_executor("cpu", within_tolerance(model, {0.2, 1}), {}).value();
  const Points points{with_outputs(Tensor({1, 2}, {3, 4}), Tensor({1, 2}, {3, 8})), {0}, {4}, 0};
  const double kept = (1 - 2 * normal::complement(0.2 / 0.3)) * (1 - 2 * normal::complement(1 / 0.6));
  EXPECT_NEAR(ask(*executor, points, {}, {on_inputs(isotropic_gaussian(), 2, 2), 0.3}, "taylor")[0].p, kept, 1e-4);
  EXPECT_THROW((void)within_tolerance(model, {1, 2, 3}), Error);
}

TEST(Tolerance, ANonfiniteOutputIsNonfinite) {
  Regression regression(Tensor({1, 1}, {1}), Tensor({1}), 0.5);
  const Tensor x({2, 1}, {std::numeric_limits<float>::quiet_NaN(), 1});
  for (const char* text : {"taylor", "mc:20", "probit:20"}) {
    const auto both = regression.at(x, isotropic_gaussian(), 0.1, text);
    EXPECT_EQ(both[0].status, Status::nonfinite) << text;
    EXPECT_EQ(both[1].status, Status::ok) << text;
  }
}

}  // namespace
}  // namespace probust
