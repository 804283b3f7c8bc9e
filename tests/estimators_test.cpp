// SPDX-License-Identifier: MIT
// Estimators as the paper defines them: exact on linear models, consistent with sampling, with defined results for zero
// gradients, ties, one and two classes, singular Gram matrices and NaN.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "probust/estimators/estimator.h"
#include "probust/estimators/linearization.h"
#include "probust/estimators/statistics/binomial.h"
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/normal/univariate.h"
#include "probust/ops/append.h"
#include "probust/train/models.h"
#include "support/networks.h"

namespace probust {
namespace {

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// Estimates p at one point. The target is the predicted class unless it is given.
Estimate at(const Graph& graph, const std::vector<float>& x, double sigma, const std::string& estimator, std::uint64_t seed = 0,
            std::int64_t target = -1) {
  const auto executor = make_executor("cpu", graph, {}).value();
  Shape shape = executor->point_shape();
  shape.insert(shape.begin(), 1);
  Points points{Tensor(shape, x), {0}, {0}, seed};
  const Tensor logits = executor->logits(points.x).value();
  points.target[0] = target >= 0 ? target : std::max<std::int64_t>(0, argmax(logits.row(0)));
  Evaluation evaluation(*executor, points, logits);
  return estimate(evaluation, {isotropic_gaussian(), sigma}, parse_estimator(estimator)).value()[0];
}

const Tensor kWeights({3, 2}, {1, 0, -1, 1, 0, -2});
const Tensor kBias({3}, {0.2F, 0, -0.1F});

TEST(Estimators, TaylorIsExactForTwoClasses) {
  const Graph graph = test::linear_classifier(Tensor({2, 2}, {1, 2, 0, 0}), Tensor({2}, {0.5F, 0}));
  for (const double sigma : {0.1, 1.0, 10.0}) {
    const Estimate estimate = at(graph, {0.3F, 0.4F}, sigma, "taylor");
    const double z = (0.3 + 0.8 + 0.5) / (sigma * std::sqrt(5.0));
    EXPECT_NEAR(estimate.p, normal_cdf(z), 1e-7);
    EXPECT_NEAR(estimate.p_fail / normal_cdf(-z), 1, 1e-5);
    EXPECT_EQ(estimate.forwards, 1);
    EXPECT_EQ(estimate.backwards, 1);
    EXPECT_EQ(estimate.status, Status::ok);
    EXPECT_FALSE(estimate.std_error);
  }
}

TEST(Estimators, SmallFailureProbabilitiesDoNotCancel) {
  const Graph graph = test::linear_classifier(Tensor({2, 1}, {1, 0}), Tensor({2}));
  const Estimate estimate = at(graph, {20}, 1, "taylor");
  EXPECT_EQ(estimate.p, 1);
  EXPECT_NEAR(estimate.p_fail / 2.7536241186062337e-89, 1, 1e-9);
}

// Three classes on two inputs; sampling is the reference.
TEST(Estimators, TaylorAgreesWithSamplingOnALinearModel) {
  const Graph graph = test::linear_classifier(kWeights, kBias);
  for (const double sigma : {0.1, 0.3, 1.0, 3.0}) {
    const Estimate exact = at(graph, {0.4F, 0.1F}, sigma, "taylor"), sampled = at(graph, {0.4F, 0.1F}, sigma, "mc:200000");
    EXPECT_NEAR(exact.p, sampled.p, 4 * *sampled.std_error + 1e-4) << sigma;
    EXPECT_NEAR(exact.p + exact.p_fail, 1, 1e-9);
  }
}

TEST(Estimators, MonteCarloAgreesWithItselfWithinItsInterval) {
  const Graph graph = test::small_cnn();
  const std::vector<float> x(64, 0.1F);
  const Estimate a = at(graph, x, 0.4, "mc:100000", 1), b = at(graph, x, 0.4, "mc:100000", 2);
  EXPECT_NE(a.p, b.p);
  EXPECT_LT(std::fabs(a.p - b.p), (*a.ci_high - *a.ci_low));
  EXPECT_GT(a.p, 0.05);
  EXPECT_LT(a.p, 0.995);
  EXPECT_LE(*a.ci_low, a.p);
  EXPECT_GE(*a.ci_high, a.p);
  EXPECT_EQ(a.forwards, 100000);
  EXPECT_NEAR(*a.std_error, std::sqrt(a.p * a.p_fail / 1e5), 1e-12);
  const Interval interval = clopper_pearson(std::llround(a.p * 1e5), 100000);
  EXPECT_EQ(*a.ci_low, interval.low);
  EXPECT_EQ(*a.ci_high, interval.high);
}

// The definition: margins and their gradients are averaged over the same samples.
TEST(Estimators, MmseIsItsDefinition) {
  const Graph graph = test::small_cnn(2);
  const auto executor = make_executor("reference", graph, {}).value();
  const std::int64_t samples = 6;
  const double sigma = 0.5;
  const Tensor x({1, 1, 8, 8}, std::vector<float>(64, 0.2F));
  std::vector<double> margins;
  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(64);
  for (std::uint32_t j = 0; j < samples; ++j) {
    Tensor noisy = x;
    isotropic_gaussian()->add({5, std::vector<std::uint32_t>{0}, std::vector<std::uint32_t>{j}}, 64, static_cast<float>(sigma),
                              noisy.data.data());
    const Tensor logits = executor->logits(noisy).value();
    margins.push_back(double{logits.data[0]} - double{logits.data[1]});
    (void)executor->jacobian(noisy, [&](std::int64_t, std::span<const float> J) {
      for (std::int64_t e = 0; e < 64; ++e) gradient[e] += (double{J[e]} - double{J[64 + e]}) / samples;
    });
  }
  const double margin = std::accumulate(margins.begin(), margins.end(), 0.0) / samples, z = margin / (sigma * gradient.norm());
  const Estimate estimate = at(graph, x.data, sigma, "mmse:6", 5, 0);
  EXPECT_NEAR(estimate.p, normal_cdf(z), 1e-5);
  EXPECT_EQ(estimate.forwards, 6);
  EXPECT_EQ(estimate.backwards, 6);
  ASSERT_TRUE(estimate.std_error);
  double variance = 0;
  for (const double value : margins) variance += (value - margin) * (value - margin) / (samples - 1);
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  EXPECT_NEAR(*estimate.std_error, density * std::sqrt(variance / samples) / (sigma * gradient.norm()), 1e-5);
  const Estimate sigmoid = at(graph, x.data, sigma, "mmse_mvs:6", 5, 0);
  EXPECT_NEAR(sigmoid.p, 1 / (1 + std::exp(-z)), 1e-5);
}

TEST(Estimators, TheStandardErrorOfMmseIsItsScatter) {
  const Graph graph = test::linear_classifier(Tensor({3, 4}, {1, 0, 1, 0, 0, 1, 0, 0, 0, 0, -1, 1}), Tensor({3}));
  std::vector<double> p;
  double claimed = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Estimate estimate = at(graph, {0.5F, 0.1F, 0.2F, 0}, 0.5, "mmse:20", seed);
    p.push_back(estimate.p);
    claimed += *estimate.std_error / 60;
  }
  const double mean = std::accumulate(p.begin(), p.end(), 0.0) / 60;
  double variance = 0;
  for (const double value : p) variance += (value - mean) * (value - mean) / 59;
  EXPECT_NEAR(claimed / std::sqrt(variance), 1, 0.35);
}

// The ratio of the root mean square standard error to the spread of p over seeds, averaged over points.
double claimed_spread(Executor& executor, Points points, const std::string& estimator) {
  constexpr int kRuns = 100;
  const Tensor logits = executor.logits(points.x).value();
  const auto n = static_cast<std::size_t>(points.size());
  std::vector<double> sum(n), squares(n), claimed(n);
  for (int run = 0; run < kRuns; ++run) {
    points.seed = static_cast<std::uint64_t>(run);
    Evaluation evaluation(executor, points, logits);
    const auto estimates = estimate(evaluation, {isotropic_gaussian(), 1}, parse_estimator(estimator)).value();
    for (std::size_t i = 0; i < n; ++i) {
      sum[i] += estimates[i].p / kRuns;
      squares[i] += estimates[i].p * estimates[i].p / kRuns;
      claimed[i] += *estimates[i].std_error * *estimates[i].std_error / kRuns;
    }
  }
  double ratio = 0;
  for (std::size_t i = 0; i < n; ++i) ratio += std::sqrt(claimed[i] / (squares[i] - sum[i] * sum[i])) / static_cast<double>(n);
  return ratio;
}

// With six classes, boundaries interact, so the derivatives of p must allow for all of them. The variants' standard errors are a
// little too small, because they omit the scatter of the gradients.
TEST(Estimators, StandardErrorsOfMmseAreTheSpreadOverSeeds) {
  const auto executor = make_executor("cpu", classifier_of(mlp({20}, {32, 32}, 6, Activation::tanh, {3})), {}).value();
  std::mt19937 random(5);
  Points points{test::random_tensor({4, 20}, random), {}, {}, 0};
  const Tensor logits = executor->logits(points.x).value();
  for (std::int64_t i = 0; i < 4; ++i) {
    points.index.push_back(i);
    points.target.push_back(argmax(logits.row(i)));
  }
  for (const std::string samples : {"5", "10", "50"}) {
    EXPECT_NEAR(claimed_spread(*executor, points, "mmse:" + samples), 1, 0.2) << samples;
    EXPECT_NEAR(claimed_spread(*executor, points, "mmse_mvs:" + samples), 1, 0.2) << samples;
    for (const std::string variant : {":centered", ":loo"})
      EXPECT_NEAR(claimed_spread(*executor, points, "mmse:" + samples + variant), 0.9, 0.2) << samples << variant;
  }
}

TEST(Estimators, SoftmaxIsTheSoftmax) {
  const Graph graph = test::linear_classifier(kWeights, kBias);
  const double f[] = {0.4 + 0.2, -0.4 + 0.1, -0.2 - 0.1};
  const auto softmax = [&](double t) {
    return std::exp(f[0] / t) / (std::exp(f[0] / t) + std::exp(f[1] / t) + std::exp(f[2] / t));
  };
  EXPECT_NEAR(at(graph, {0.4F, 0.1F}, 1, "softmax").p, softmax(1), 1e-6);
  EXPECT_NEAR(at(graph, {0.4F, 0.1F}, 1, "softmax:0.1").p, softmax(0.1), 1e-6);
  EXPECT_NEAR(at(graph, {0.4F, 0.1F}, 1, "softmax:0.1").p_fail, 1 - softmax(0.1), 1e-6);
}

TEST(Estimators, TaylorMvsIsTheMvSigmoidOfZ) {
  const Graph graph = test::linear_classifier(kWeights, kBias);
  const double sigma = 0.7;
  const double z1 = 0.9 / (sigma * std::sqrt(5.0)), z2 = 0.9 / (sigma * std::sqrt(5.0));
  EXPECT_NEAR(at(graph, {0.4F, 0.1F}, sigma, "taylor_mvs").p, 1 / (1 + std::exp(-z1) + std::exp(-z2)), 1e-6);
}

// A margin with zero gradient is never crossed if it is positive, and always if it is negative.
TEST(Estimators, AZeroGradientIsNeverOrAlwaysCrossed) {
  const Graph constant = test::linear_classifier(Tensor({3, 1}), Tensor({3}, {1, 0, -1}));
  const Estimate kept = at(constant, {0}, 1, "taylor");
  EXPECT_EQ(kept.p, 1);
  EXPECT_EQ(kept.p_fail, 0);
  EXPECT_EQ(kept.status, Status::degenerate);
  const Estimate lost = at(constant, {0}, 1, "taylor", 0, 2);
  EXPECT_EQ(lost.p, 0);
  EXPECT_EQ(lost.p_fail, 1);
  const Graph partly = test::linear_classifier(Tensor({3, 1}, {1, 1, 0}), Tensor({3}, {0.5F, 0, 0}));
  const Estimate estimate = at(partly, {1}, 1, "taylor");
  EXPECT_NEAR(estimate.p, normal_cdf(1.5), 1e-7);
  EXPECT_EQ(estimate.status, Status::ok);
}

// sign(f(x)) as a classifier: its margins are constant almost everywhere, so gradients do not show how often they flip.
TEST(Estimators, PiecewiseConstantClassifiersHaveNoGradientEstimate) {
  Graph graph = test::linear_classifier(kWeights, kBias);
  graph.outputs = {append(graph, Op::sign, {graph.outputs[0]})};
  for (const char* estimator : {"taylor", "taylor_mvs", "mmse:4", "mmse_mvs:4"}) {
    const Estimate estimate = at(graph, {0.4F, 0.1F}, 0.7, estimator);
    EXPECT_TRUE(std::isnan(estimate.p)) << estimator;
    EXPECT_EQ(estimate.status, Status::degenerate);
    EXPECT_EQ(estimate.forwards + estimate.backwards, 0) << estimator;
  }
  EXPECT_GT(at(graph, {0.4F, 0.1F}, 0.7, "mc:100").p, 0);
}

TEST(Estimators, ATieGoesToTheLowestIndex) {
  const Graph tied = test::linear_classifier(Tensor({2, 1}), Tensor({2}, {1, 1}));
  EXPECT_EQ(at(tied, {0}, 1, "taylor", 0, 0).p, 1);
  EXPECT_EQ(at(tied, {0}, 1, "mc:100", 0, 0).p, 1);
  EXPECT_EQ(at(tied, {0}, 1, "taylor", 0, 1).p, 0);
  EXPECT_EQ(at(tied, {0}, 1, "mc:100", 0, 1).p, 0);
}

TEST(Estimators, OneClassIsAlwaysKept) {
  const Graph one = test::linear_classifier(Tensor({1, 2}, {1, 2}), Tensor({1}));
  for (const char* estimator : {"taylor", "taylor_mvs", "mmse:3", "mmse_mvs:3", "softmax", "mc:50", "probit:2", "probit:50",
                                "regression:8", "probit:20:pooled", "regression:16:adf", "subset:200"}) {
    const Estimate estimate = at(one, {1, 1}, 1, estimator);
    EXPECT_EQ(estimate.p, 1) << estimator;
    EXPECT_EQ(estimate.p_fail, 0) << estimator;
  }
}

// Ten classes on two inputs: a Gram matrix of rank 2.
TEST(Estimators, SingularGramMatricesAreNormal) {
  std::mt19937 random(3);
  Tensor weights({10, 2}), bias({10});
  for (std::int64_t c = 0; c < 10; ++c) {
    weights.data[2 * c] = static_cast<float>(std::cos(0.6 * static_cast<double>(c)));
    weights.data[2 * c + 1] = static_cast<float>(std::sin(0.6 * static_cast<double>(c)));
  }
  const Graph graph = test::linear_classifier(weights, bias);
  for (const double sigma : {0.2, 1.0, 5.0}) {
    const Estimate exact = at(graph, {0.9F, 0.3F}, sigma, "taylor"), sampled = at(graph, {0.9F, 0.3F}, sigma, "mc:200000");
    EXPECT_NEAR(exact.p, sampled.p, 4 * *sampled.std_error + 2e-4) << sigma;
    EXPECT_EQ(exact.status, Status::ok);
  }
}

TEST(Estimators, DuplicateClassesAreNormal) {
  const Graph graph = test::linear_classifier(Tensor({3, 2}, {1, 0, 0, 1, 0, 1}), Tensor({3}, {1, 0, 0}));
  EXPECT_NEAR(at(graph, {0, 0}, 1, "taylor").p, normal_cdf(1 / std::sqrt(2.0)), 1e-6);
}

TEST(Estimators, NanGivesNonfiniteAndOtherPointsAreUnaffected) {
  const auto executor = make_executor("cpu", test::linear_classifier(kWeights, kBias), {}).value();
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  Points points{Tensor({3, 2}, {0.4F, 0.1F, nan, 0, infinity, 0}), {0, 1, 2}, {0, 0, 0}, 0};
  Evaluation evaluation(*executor, points, executor->logits(points.x).value());
  for (const char* text : {"taylor", "taylor_mvs", "mmse:3", "mmse_mvs:3", "softmax", "mc:50", "probit:20", "probit:20:pooled",
                           "regression:20", "regression:20:pooled", "regression:20:adf"}) {
    const auto estimates = estimate(evaluation, {isotropic_gaussian(), 0.1}, parse_estimator(text)).value();
    EXPECT_EQ(estimates[0].status, Status::ok) << text;
    EXPECT_GT(estimates[0].p, 0.5) << text;
    for (const std::size_t i : {1UL, 2UL}) {
      EXPECT_EQ(estimates[i].status, Status::nonfinite) << text;
      EXPECT_TRUE(std::isnan(estimates[i].p)) << text;
    }
  }
}

// On a linear classifier, the probabilities of all classes are exact: they agree with sampling, and their sum is 1.
TEST(Estimators, GroupsAndSingleClassesAreSumsOfOrthants) {
  const auto executor = make_executor("cpu", test::linear_classifier(kWeights, kBias), {}).value();
  const Points points{Tensor({1, 2}, {0.4F, 0.1F}), {0}, {0}, 0};
  const Tensor logits = executor->logits(points.x).value();
  const auto ask = [&](const Event& event, const std::string& text) {
    Evaluation evaluation(*executor, points, logits, event);
    return estimate(evaluation, {isotropic_gaussian(), 0.7}, parse_estimator(text)).value()[0];
  };
  const Event single{{}, true}, pair{{0, 0, 1}, true};
  for (const char* text : {"taylor", "adf"}) {
    const Estimate alone = ask(single, text), sampled = ask(single, "mc:200000"), both = ask(pair, text);
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_GT(sampled.classes[c], 0.05);
      EXPECT_NEAR(alone.classes[c], sampled.classes[c], 0.005) << text << c;
      sum += alone.classes[c];
    }
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_EQ(alone.p, alone.classes[0]);
    EXPECT_NEAR(both.p, alone.classes[0] + alone.classes[1], 1e-9);
    EXPECT_NEAR(both.p_fail, alone.classes[2], 1e-9);
  }
  EXPECT_NEAR(ask(pair, "mc:200000").p, ask(pair, "taylor").p, 0.005);
  Evaluation evaluation(*executor, points, logits, pair);
  EXPECT_EQ(estimate(evaluation, {isotropic_gaussian(), 0.7}, parse_estimator("softmax")).error().code, ErrorCode::usage);
}

TEST(Estimators, AutoChoosesByBudgetAndRarity) {
  const Graph cnn = test::small_cnn();
  const std::vector<float> x(64, 0.1F);
  const Estimate few = at(cnn, x, 0.4, "auto:24"), more = at(cnn, x, 0.4, "auto:200"), truth = at(cnn, x, 0.4, "mc:100000");
  EXPECT_EQ(few.method->text(), "probit:24:pooled");
  ;
  EXPECT_EQ(at(cnn, x, 0.4, "auto:60").method->text(), "regression:60:pooled");
  ;
  EXPECT_EQ(more.method->text(), "regression:200:adf");
  ;
  EXPECT_EQ(at(cnn, x, 0.4, "probit:24").p, few.p);
  EXPECT_NEAR(more.p, truth.p, 0.05);
  EXPECT_EQ(parse_estimator("auto").text(), "auto:100");
  // A failure probability of 1e-7 on a linear model: the pilot finds that counting is hopeless.
  const Graph linear = test::linear_classifier(Tensor({2, 2}, {3, 4, 0, 0}), Tensor({2}));
  const double sigma = 1.0 / (5 * 5.2), q = normal_cdf(-5.2);  // the margin is 1, the length of its gradient 5
  const Estimate rare = at(linear, {0.12F, 0.16F}, sigma, "auto:5000");
  EXPECT_EQ(rare.method->definition->name, "subset");
  EXPECT_LT(std::abs(std::log10(rare.p_fail / q)), 0.5);
  EXPECT_LE(rare.forwards, 5000);
}

// The estimator that a hint suggests, if any.
std::string example_in(const std::string& refused) {
  try {
    ADD_FAILURE() << refused << " is " << parse_estimator(refused).text();
  } catch (const Error& error) {
    const std::string& hint = error.hint;
    for (const std::string mark : {"try ", "write "}) {
      if (hint.rfind(mark, 0) == 0) return hint.substr(mark.size());
    }
    ADD_FAILURE() << error.message();
  }
  return "taylor";
}

TEST(Estimators, ExamplesInHintsAreValid) {
  using Parameter = EstimatorDefinition::Parameter;
  for (const EstimatorDefinition& entry : all_estimators()) {
    const std::string name(entry.name), variant = entry.variant.empty() ? "" : ":" + std::string(entry.variant);
    std::vector<std::string> refused = {name + ":magic" + variant, name + "::", name + ":"};
    if (entry.parameter == Parameter::samples) refused.push_back(name + ":0" + variant);
    if (entry.parameter == Parameter::samples && !entry.default_parameter && variant.empty()) refused.push_back(name);
    if (entry.parameter == Parameter::half_width) refused.push_back(name + ":±7");
    if (entry.parameter == Parameter::threshold) refused.push_back(name + ":p>7");
    for (const std::string& text : refused) {
      const std::string example = example_in(text);
      EXPECT_NO_THROW(EXPECT_EQ(parse_estimator(example).definition->name, entry.name)) << example;
    }
    if (entry.least < 2) continue;
    const std::string example = example_in(name + ":1" + variant);
    EXPECT_NO_THROW(EXPECT_EQ(parse_estimator(example).definition, &entry)) << example;
  }
}

TEST(Estimators, TooManySamplesAreRejectedWithTheLimit) {
  for (const char* text : {"2147483649", "4294967296", "99999999999999999999999"}) {
    try {
      parse_estimator(std::string("mc:") + text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.problem, "cannot have '" + std::string(text) + "' samples");
      EXPECT_EQ(error.hint, "give at most 2147483648");
    }
  }
  EXPECT_EQ(parse_estimator("mc:2147483648").samples, 2147483648);
}

TEST(Estimators, TextsAreReadAndWritten) {
  for (const char* text : {"mc:200000", "taylor", "taylor_mvs", "mmse:10", "mmse_mvs:5", "softmax", "softmax:2", "probit:2",
                           "regression:8", "probit:24:pooled", "regression:25:pooled", "regression:25:adf", "mmse:10:centered",
                           "mmse:10:loo", "mc:±0.01", "mc:p>0.95"})
    EXPECT_EQ(parse_estimator(text).text(), text);
  EXPECT_EQ(parse_estimator("softmax:1").text(), "softmax");
  EXPECT_EQ(parse_estimator("mc:+-0.01").text(), "mc:±0.01");
  for (const char* wrong :
       {"",           "mc",        "mc:",       "mc:0",   "mc:50:",         "mc:-3",       "mc:1.5",          "mc:1e3",
        "taylor:3",   "softmax:0", "softmax:x", "magic",  "mc:99999999999", "probit:1",    "regression:7",    "mmse:10:magic",
        "mmse:1:loo", "mc:±0",     "mc:±2",     "mc:p>1", "mc:p>",          "probit:±0.1", "taylor::centered"}) {
    EXPECT_THROW(parse_estimator(wrong), Error) << wrong;
  }
}

// Margins are normal: counting the same samples adds almost nothing, and the estimate is within its own error.
TEST(Estimators, ProbitAndRegressionAgreeWithTheTruthOnALinearModel) {
  const Graph graph = test::linear_classifier(kWeights, kBias);
  for (const double sigma : {0.3, 1.0, 3.0}) {
    const Estimate exact = at(graph, {0.4F, 0.1F}, sigma, "taylor");
    const Estimate probit = at(graph, {0.4F, 0.1F}, sigma, "probit:2000"), sampled = at(graph, {0.4F, 0.1F}, sigma, "mc:2000");
    EXPECT_NEAR(probit.p, exact.p, 4 * *probit.std_error + 1e-6) << sigma;
    EXPECT_LE(*probit.ci_low, exact.p);
    EXPECT_GE(*probit.ci_high, exact.p);
    EXPECT_LT(*probit.std_error, 1.05 * *sampled.std_error + 1e-4) << sigma;
    EXPECT_EQ(probit.forwards, 2000);
    const Estimate regression = at(graph, {0.4F, 0.1F}, sigma, "regression:25");
    EXPECT_NEAR(regression.p, exact.p, 1e-6) << sigma;
    EXPECT_NEAR(regression.p_fail, exact.p_fail, 1e-6) << sigma;
    EXPECT_EQ(regression.forwards, 23);
    EXPECT_EQ(regression.backwards, 2);
    const Estimate smoothed = at(graph, {0.4F, 0.1F}, sigma, "regression:25:adf");
    EXPECT_NEAR(smoothed.p, exact.p, 1e-6) << sigma;
    EXPECT_EQ(smoothed.forwards, 16);  // of 25; moment propagation with two gradients costs ten passes
    EXPECT_EQ(smoothed.backwards, 4);
  }
}

// The points of a linear classifier have the same covariance, so pooling improves it with few samples. A single point has no
// others to pool with.
TEST(Estimators, PooledCovariancesAreBetterForSimilarPoints) {
  std::mt19937 random(8);
  const std::int64_t n = 40;
  const Graph graph = test::linear_classifier(test::random_tensor({6, 12}, random), Tensor({6}));
  const auto executor = make_executor("cpu", graph, {}).value();
  Points points{test::random_tensor({n, 12}, random), {}, {}, 3};
  const Tensor logits = executor->logits(points.x).value();
  for (std::int64_t i = 0; i < n; ++i) {
    points.index.push_back(i);
    points.target.push_back(argmax(logits.row(i)));
  }
  Evaluation evaluation(*executor, points, logits);
  const Noise noise{isotropic_gaussian(), 0.4};
  const auto error = [&](const std::string& text) {
    const auto estimates = estimate(evaluation, noise, parse_estimator(text)).value();
    const auto exact = estimate(evaluation, noise, parse_estimator("taylor")).value();
    double sum = 0;
    for (std::size_t i = 0; i < estimates.size(); ++i) sum += std::fabs(estimates[i].p - exact[i].p);
    return sum;
  };
  EXPECT_LT(error("probit:16:pooled"), 0.8 * error("probit:16"));
  EXPECT_LT(error("regression:20:pooled"), 0.9 * error("regression:20"));
  const std::vector<float> x(12, 0.1F);
  EXPECT_EQ(at(graph, x, 0.4, "probit:16:pooled").p, at(graph, x, 0.4, "probit:16").p);
  EXPECT_EQ(at(graph, x, 0.4, "regression:20:pooled").p, at(graph, x, 0.4, "regression:20").p);
}

// Estimates p at one point of a linear classifier of four features.
Estimate under(const Noise& noise, const std::string& text) {
  const Tensor weights({3, 4}, {1, 0, 0.5F, 0, -1, 1, 0, 0.2F, 0, -2, 0, 1});
  const auto executor = make_executor("cpu", test::linear_classifier(weights, kBias), {}).value();
  const Points points{Tensor({1, 4}, {1, 0.2F, 0.5F, 0.1F}), {0}, {0}, 0};
  Evaluation evaluation(*executor, points, executor->logits(points.x).value());
  return estimate(evaluation, noise, parse_estimator(text)).value()[0];
}

// Noise that is a function of normal variables: correlated, on some columns only, or with several parts. The model is linear,
// so Taylor is exact.
TEST(Estimators, SubsetSimulationSupportsFunctionsOfNormals) {
  const NoiseArray covariance{{2, 2}, {1, 0.8, 0.8, 1}, "C"}, deviations{{4}, {0.5, 1, 0, 2}, "s"};
  const auto correlated = covariance_gaussian(covariance, "cov");
  const auto parts = mixture({{{correlated, 0.3}, {{0, 1}}}, {{isotropic_gaussian(), 0.2}, {{3}}}});
  for (const Noise& noise :
       {Noise{on_columns(correlated, {{0, 1}}), 0.25}, Noise{diagonal_gaussian(deviations, "std"), 0.16}, Noise{parts, 0.9}}) {
    const Estimate exact = under(noise, "taylor"), estimate = under(noise, "subset:5000");
    ASSERT_LT(exact.p_fail, 2e-2) << noise.text();
    ASSERT_GT(exact.p_fail, 1e-9) << noise.text();
    EXPECT_LT(std::fabs(std::log10(estimate.p_fail / exact.p_fail)), 0.5) << noise.text();
    EXPECT_EQ(estimate.status, Status::ok) << noise.text();
  }
  const auto categorical = categorical_noise({{{0, 1}, {0.6, 0.4, 0.3, 0.7}}}, "J");
  EXPECT_EQ(::probust::guarded("", [&] { return under({categorical, 1}, "subset:5000"); }).error().code, ErrorCode::usage);
}

TEST(Estimators, SubsetSimulationSupportsUniformAndLaplaceNoise) {
  for (const Noise& noise : {Noise{uniform_noise(), 0.6}, Noise{laplace_noise(), 0.13}}) {
    const Estimate counted = under(noise, "mc:2000000"), estimate = under(noise, "subset:5000");
    ASSERT_GT(counted.p_fail, 1e-4) << noise.text();
    ASSERT_LT(counted.p_fail, 2e-2) << noise.text();
    EXPECT_LT(std::fabs(std::log10(estimate.p_fail / counted.p_fail)), 0.15) << noise.text();
    EXPECT_EQ(estimate.status, Status::ok) << noise.text();
  }
}

// Categorical noise cannot be mirrored at x, so an antithetic pair consists of two different samples, not of the same sample
// twice.
TEST(Estimators, ProbitSupportsNoiseThatCannotBeMirrored) {
  const auto shape = categorical_noise({{{0, 1}, {0.6, 0.4, 0.3, 0.7}}, {{2, 3}, {0.9, 0.1, 0.5, 0.5}}}, "J");
  const Noise noise{shape, 1};
  EXPECT_FALSE(shape->mirrored());
  const Estimate counted = under(noise, "mc:20000"), probit = under(noise, "probit:1000");
  EXPECT_LT(*probit.ci_low, counted.p);
  EXPECT_GT(*probit.ci_high, counted.p);
  EXPECT_LT(counted.p, 0.99);
  EXPECT_LT(*probit.ci_high - *probit.ci_low, 0.1);
}

// More rivals than gradients, with few inputs and with many; S is singular at N = 10.
TEST(Estimators, ProbitAndRegressionHandleManyClasses) {
  std::mt19937 random(5);
  for (const std::int64_t inputs : {2, 30}) {
    const Graph graph =
        test::linear_classifier(test::random_tensor({10, inputs}, random), test::random_tensor({10}, random, -0.1F, 0.1F));
    const std::vector<float> x(static_cast<std::size_t>(inputs), 0.2F);
    const Estimate exact = at(graph, x, 0.2, "taylor");
    for (const char* text : {"probit:10", "probit:50", "probit:1000", "regression:12", "regression:50", "regression:1000"}) {
      const Estimate estimate = at(graph, x, 0.2, text);
      EXPECT_NEAR(estimate.p, exact.p, 3.5 * *estimate.std_error + 0.01) << text << " inputs " << inputs;
      EXPECT_LE(*estimate.ci_low, exact.p) << text;
      EXPECT_GE(*estimate.ci_high, exact.p) << text;
      EXPECT_NEAR(estimate.p + estimate.p_fail, 1, 1e-12) << text;
    }
  }
}

// Both corrections subtract the movement of the margins along their gradients, so on a linear model, nothing random remains.
TEST(Estimators, CenteredMmseIsExactOnLinearModels) {
  const Graph graph = test::linear_classifier(kWeights, kBias);
  const Estimate exact = at(graph, {0.4F, 0.1F}, 1, "taylor"), plain = at(graph, {0.4F, 0.1F}, 1, "mmse:5");
  EXPECT_GT(std::fabs(plain.p - exact.p), 1e-3);
  for (const char* text : {"mmse:5:centered", "mmse:5:loo"}) {
    const Estimate estimate = at(graph, {0.4F, 0.1F}, 1, text);
    EXPECT_NEAR(estimate.p, exact.p, 1e-6) << text;
    EXPECT_LT(*estimate.std_error, 1e-6) << text;
    EXPECT_EQ(estimate.forwards + estimate.backwards, 15) << text;
  }
}

// g = x² at two samples, with gradients 2x: the corrections are computed by hand.
TEST(Estimators, VariantsOfMmseAreTheirDefinitions) {
  Graph graph;
  const ValueId x = append_input(graph, {1, 1}, Extent::example, "x");
  graph.outputs = {build::reshape(
      graph, build::matmul(graph, build::multiply(graph, x, x), append_constant(graph, Tensor({1, 2}, {1, 0}))), {2})};
  float e[2] = {0, 0};
  for (std::uint32_t j = 0; j < 2; ++j)
    isotropic_gaussian()->add({7, std::vector<std::uint32_t>{0}, std::vector<std::uint32_t>{j}}, 1, 0.3F, &e[j]);
  const double a = 1.0 + e[0], b = 1.0 + e[1], slope = a + b;  // the mean of 2a and 2b
  const double centered = (a * a + b * b) / 2 - slope * (e[0] + e[1]) / 2;
  const double left_out = (a * a + b * b) / 2 - (2 * b * e[0] + 2 * a * e[1]) / 2;
  EXPECT_NEAR(at(graph, {1}, 0.3, "mmse:2:centered", 7, 0).p, normal_cdf(centered / (0.3 * slope)), 1e-5);
  EXPECT_NEAR(at(graph, {1}, 0.3, "mmse:2:loo", 7, 0).p, normal_cdf(left_out / (0.3 * slope)), 1e-5);
}

// The margins |x| minus a constant are far from normal. The normal estimate is off by 0.07; the counts correct it.
TEST(Estimators, ProbitFollowsTheCountsIfTheyContradictNormality) {
  Graph graph;
  const ValueId x = append_input(graph, {1}, Extent::example, "x");
  const ValueId size = append(graph, Op::absolute, {x});
  graph.outputs = {build::reshape(
      graph,
      build::add(graph, build::matmul(graph, build::reshape(graph, size, {1, 1}), append_constant(graph, Tensor({1, 2}, {0, 1}))),
                 append_constant(graph, Tensor({1, 2}, {0.4F, 0}))),
      {2})};
  const double truth = std::erf(0.4 / std::sqrt(2.0));  // P[|x| < .4]
  const Estimate few = at(graph, {0}, 1, "probit:10000"), many = at(graph, {0}, 1, "probit:100000");
  EXPECT_NEAR(few.p, truth, 0.02);
  EXPECT_NEAR(many.p, truth, 0.006);
  for (const Estimate& estimate : {few, many}) {
    EXPECT_LE(*estimate.ci_low, truth);
    EXPECT_GE(*estimate.ci_high, truth);
  }
}

// If margins do not move, the estimate is certain, within what the samples can show.
TEST(Estimators, ProbitOfConstantMarginsIsCertainWithinTheInterval) {
  const Graph constant = test::linear_classifier(Tensor({3, 1}), Tensor({3}, {1, 0.1F, -1}));
  const Estimate kept = at(constant, {0}, 1, "probit:50"), lost = at(constant, {0}, 1, "probit:50", 0, 2);
  EXPECT_EQ(kept.p, 1);
  EXPECT_EQ(kept.status, Status::degenerate);
  EXPECT_NEAR(*kept.ci_low, std::pow(0.025, 0.02), 1e-9);
  EXPECT_EQ(lost.p, 0);
}

// Over seeds and probabilities, the interval has the requested width, covers the truth, and uses only the second stage.
TEST(Estimators, TheTwoStageIntervalCovers) {
  const Graph graph = test::linear_classifier(Tensor({2, 1}, {1, 0}), Tensor({2}));
  for (const float z : {0.0F, 1.3F, 2.5F}) {
    int covered = 0, within = 0;
    constexpr int kRuns = 300;
    for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
      const Estimate estimate = at(graph, {z}, 1, "mc:±0.05", seed);
      covered += *estimate.ci_low <= normal_cdf(z) && normal_cdf(z) <= *estimate.ci_high ? 1 : 0;
      within += *estimate.ci_high - *estimate.ci_low <= 0.1 + 1e-9 ? 1 : 0;
      EXPECT_GT(estimate.forwards, 150);
      EXPECT_LT(estimate.forwards, 620);
    }
    EXPECT_GE(covered, 274) << z;  // 95% of 300 is 285, three standard errors are 11
    EXPECT_GE(within, 240) << z;
  }
}

TEST(Estimators, DecisionsAreRightAndStopEarlyIfEasy) {
  const Graph graph = test::linear_classifier(Tensor({2, 1}, {1, 0}), Tensor({2}));
  const Estimate yes = at(graph, {2}, 1, "mc:p>0.9"), no = at(graph, {1}, 1, "mc:p>0.9");
  EXPECT_EQ(yes.status, Status::decided);
  EXPECT_EQ(yes.note, "p > 0.9 holds");
  EXPECT_EQ(no.status, Status::decided);
  EXPECT_EQ(no.note, "p > 0.9 does not hold");
  EXPECT_GT(*yes.ci_low, 0.9);
  EXPECT_LT(*no.ci_high, 0.9);
  EXPECT_LT(yes.forwards, 1500);
  EXPECT_LT(no.forwards, 1500);
}

// If p = tau exactly, any decision is wrong. This may happen in only 5% of the runs, however often the test looks at the
// samples.
TEST(Estimators, DecisionsAreRarelyWrong) {
  const Graph graph = test::linear_classifier(Tensor({2, 1}, {1, 0}), Tensor({2}));
  int decided = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Estimate estimate = at(graph, {0}, 1, "mc:p>0.5", seed);
    decided += estimate.status == Status::undecided ? 0 : 1;
    EXPECT_EQ(estimate.status == Status::undecided, estimate.forwards == 1 << 20);
  }
  EXPECT_LE(decided, 6);
}

// f = (z - x0, 0) on 20 inputs: p_fail = P[x0 > z]. The errors over runs, in decades, are compared with the standard errors.
TEST(Estimators, SubsetSimulationFindsRareFailures) {
  Tensor weights({2, 20});
  weights.data[0] = -1;
  for (const double z : {3.0902, 4.7534, 5.9978}) {  // 1e-3, 1e-6, 1e-9
    const Graph graph = test::linear_classifier(weights, Tensor({2}, {static_cast<float>(z), 0}));
    const double truth = normal_cdf(-z);
    std::vector<double> errors;
    double claimed = 0, squares = 0;
    constexpr int kRuns = 24;
    for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
      const Estimate estimate = at(graph, std::vector<float>(20, 0), 1, "subset:5000", seed);
      errors.push_back(std::fabs(std::log10(estimate.p_fail / truth)));
      squares += std::pow(std::log(estimate.p_fail / truth), 2) / kRuns;
      claimed += std::pow(*estimate.std_error / estimate.p_fail, 2) / kRuns;
      EXPECT_LE(estimate.forwards, 5100);
    }
    std::nth_element(errors.begin(), errors.begin() + kRuns / 2, errors.end());
    EXPECT_LT(errors[kRuns / 2], 0.3) << z;
    EXPECT_GT(claimed, 0.5 * squares) << z;
    EXPECT_LT(claimed, 3 * squares) << z;
  }
}

// f = (r² - |x|², 0) on two inputs: p_fail = exp(-r² / 2), and the design point is not unique.
TEST(Estimators, SubsetSimulationFindsAQuadraticBoundary) {
  Graph graph;
  const ValueId x = append_input(graph, {1, 2}, Extent::example, "x");
  const ValueId squares =
      build::matmul(graph, build::multiply(graph, x, x), append_constant(graph, Tensor({2, 2}, {-1, 0, -1, 0})));
  for (const double truth : {1e-3, 1e-6, 1e-9}) {
    Graph at_radius = graph;
    const Tensor offset({1, 2}, {static_cast<float>(-2 * std::log(truth)), 0});
    at_radius.outputs = {build::reshape(at_radius, build::add(at_radius, squares, append_constant(at_radius, offset)), {2})};
    std::vector<double> errors;
    for (std::uint64_t seed = 0; seed < 15; ++seed)
      errors.push_back(std::fabs(std::log10(at(at_radius, {0.001F, 0}, 1, "subset:5000", seed).p_fail / truth)));
    std::nth_element(errors.begin(), errors.begin() + 7, errors.end());
    EXPECT_LT(errors[7], 0.3) << truth;
  }
}

// Known values: I_0.5(2, 3) = 11/16; the interval for 0 of n is [0, 1 - 0.025^(1/n)]; for 5 of 10, from tables.
TEST(Binomial, IntervalsAreClopperAndPearsons) {
  EXPECT_NEAR(incomplete_beta(2, 3, 0.5), 11.0 / 16, 1e-13);
  EXPECT_NEAR(incomplete_beta(2000, 3000, 0.4), 0.5 + (1.0 / 3) * 0.2 / std::sqrt(2 * 3.14159265358979 * 5000 * 0.24), 1e-3);
  EXPECT_NEAR(clopper_pearson(0, 100).high, 1 - std::pow(0.025, 0.01), 1e-12);
  EXPECT_EQ(clopper_pearson(0, 100).low, 0);
  EXPECT_NEAR(clopper_pearson(100, 100).low, std::pow(0.025, 0.01), 1e-12);
  EXPECT_NEAR(clopper_pearson(5, 10).low, 0.18708603, 1e-7);
  EXPECT_NEAR(clopper_pearson(5, 10).high, 0.81291397, 1e-7);
}

// Coverage, computed exactly by summing over all outcomes.
TEST(Binomial, IntervalsHaveAtLeastTheirNominalCoverage) {
  for (const double p : {0.01, 0.3, 0.9}) {
    double covered = 0;
    const int n = 60;
    for (int k = 0; k <= n; ++k) {
      const Interval interval = clopper_pearson(k, n);
      const double weight =
          std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) + (n - k) * std::log1p(-p));
      if (interval.low <= p && p <= interval.high) covered += weight;
    }
    EXPECT_GE(covered, 0.95) << p;
    EXPECT_LT(covered, 0.995) << p;
  }
}

// Two classes with the same logits: the class with the higher index never wins, whatever the noise is.
TEST(Estimators, TiesAreLostToTheLowerClassByEveryEstimator) {
  const Graph graph = test::linear_classifier(Tensor({3, 2}, {1, 0.5F, 1, 0.5F, -1, 0.2F}), Tensor({3}));
  const auto executor = make_executor("cpu", graph, {}).value();
  const Points points{Tensor({1, 2}, {0.2F, 0.5F}), {0}, {1}, 3};
  Evaluation evaluation(*executor, points, executor->logits(points.x).value());
  for (const char* text : {"mc:200", "taylor", "probit:30", "regression:60", "regression:60:pooled"}) {
    const Estimate clipped_too =
        estimate(evaluation, {clipped(isotropic_gaussian(), {-1, 1}), 1}, parse_estimator(text)).value()[0];
    EXPECT_LT(clipped_too.p, 0.02) << text;
  }
}

// Of very many rivals, only the decisive ones are kept, and only rivals that cannot matter are dropped.
TEST(Pairs, RivalsThatCannotMatterAreLeftOut) {
  const Eigen::Index m = 300, h = 40;
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  Pairs pairs{Eigen::MatrixXd(m, h), Eigen::MatrixXd(m, h)};
  for (Eigen::Index i = 0; i < m; ++i) {
    const double mean = i % 3 == 0 ? 2 : 6;  // in standard deviations
    for (Eigen::Index j = 0; j < h; ++j) {
      const double eps = normal(random);
      pairs.plus(i, j) = mean + eps;
      pairs.minus(i, j) = mean - eps;
    }
  }
  const Rivals all = nearest_rivals({pairs.plus.topRows(64), pairs.minus.topRows(64)}, 7);
  EXPECT_EQ(all.rows.size(), 64U);
  EXPECT_EQ(all.target, 7);
  const Rivals some = nearest_rivals(pairs, 150, std::array<std::int64_t, 1>{1});
  EXPECT_EQ(some.rows.size(), 101U);  // every third rival, and the required one
  EXPECT_EQ(some.rows[1], 1);
  EXPECT_EQ(some.target, 51);  // 50 of the rows 0, 3, ... and row 1 are before the target
  EXPECT_EQ(some.pairs.plus.row(2), pairs.plus.row(3));
  const Eigen::VectorXd z = scores(pairs);
  double left = 0;
  for (Eigen::Index i = 0; i < m; ++i) {
    if (!std::binary_search(some.rows.begin(), some.rows.end(), i)) left += normal::complement(z[i]);
  }
  EXPECT_LE(left, 1e-3);
}

}  // namespace
}  // namespace probust
