// SPDX-License-Identifier: MIT
// Intervals at their nominal level: compared with closed forms if there are any, and otherwise tested by coverage over many
// seeds. Coverage alone could not distinguish 90% from 95% without thousands of runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "probust/analysis/curve.h"
#include "probust/estimators/estimator.h"
#include "probust/estimators/reconcile.h"
#include "probust/estimators/statistics/binomial.h"
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/normal/univariate.h"
#include "support/networks.h"

namespace probust {
namespace {

constexpr double kTwoSided95 = 1.959963984540054;

// f_0 - f_1 = x_0 + bias: under unit noise, target 0 fails with probability Phi(-(x_0 + bias)).
Graph half_space(float bias) { return test::linear_classifier(Tensor({2, 2}, {1, 0, 0, 0}), Tensor({2}, {bias, 0})); }

Points copies_of_origin(std::int64_t count, std::uint64_t seed = 0) {
  Points points{Tensor({count, 2}), std::vector<std::int64_t>(static_cast<std::size_t>(count)), {}, seed};
  std::iota(points.index.begin(), points.index.end(), 0);
  points.target.assign(points.index.size(), 0);
  return points;
}

std::vector<Estimate> estimates(const Graph& graph, const Points& points, const std::string& estimator, double sigma = 1) {
  const auto executor = make_executor("cpu", graph, {}).value();
  const Tensor logits = executor->logits(points.x).value();
  Evaluation evaluation(*executor, points, logits);
  return estimate(evaluation, {isotropic_gaussian(), sigma}, parse_estimator(estimator)).value();
}

Estimate normal_estimate(double z) {
  Estimate estimate;
  estimate.p = normal::cdf(z);
  estimate.p_fail = normal::complement(z);
  return estimate;
}

// Without a model error and with few counts, zeta is normal with the model's z as its mean.
TEST(Intervals, ReconciledIsNormalWithoutModelError) {
  const Evidence evidence{1.3, 0.05, 9, 10, 0};
  const Reconciled result = reconcile(evidence);
  EXPECT_NEAR(result.z, 1.3, 1e-9);
  EXPECT_NEAR(result.std_error, (normal::cdf(1.35) - normal::cdf(1.25)) / 2, 1e-9);
  const Interval p95 = reconciled_p95(evidence);
  EXPECT_NEAR(p95.low, normal::cdf(1.3 - kTwoSided95 * 0.05), 1e-9);
  EXPECT_NEAR(p95.high, normal::cdf(1.3 + kTwoSided95 * 0.05), 1e-9);
}

// The posterior by brute force: zeta = z - b - e, with a Student prior with one degree of freedom for b in units of the model
// error, e normal, and counts worth n / (1 - the share of their variance that the model explains) samples.
double posterior_cdf(const Evidence& evidence, double zeta) {
  const auto n = static_cast<double>(evidence.samples), k = static_cast<double>(evidence.survivors);
  const double at = normal::quantile((k + 1) / (n + 2));  // nearer to 0 than the model's z in these cases
  const double count_error = std::sqrt(normal::cdf(at) * normal::complement(at) / n) / normal::pdf(at);
  const double worth = 1 / (1 - std::pow(evidence.std_error / count_error, 2));
  double below = 0, total = 0;
  constexpr int kSteps = 20000;
  for (int i = -kSteps; i <= kSteps; ++i) {
    const double u = 6.0 * i / kSteps, t = std::sinh(u), centre = evidence.z - t * evidence.model_error;
    const double likelihood = worth * (k * normal::log_cdf(centre) + (n - k) * normal::log_complement(centre));
    const double weight = std::exp(likelihood + 100) / (1 + t * t) * std::cosh(u);
    total += weight;
    below += weight * normal::cdf((zeta - centre) / evidence.std_error);
  }
  return below / total;
}

TEST(Intervals, ReconciledIsThePosterior) {
  for (const Evidence& evidence :
       {Evidence{1, 0.05, 70, 100, 0.2}, Evidence{0.9, 0.07, 75, 100, 0.1}, Evidence{2, 0.1, 90, 100, 0.05}}) {
    const Interval p95 = reconciled_p95(evidence);
    EXPECT_NEAR(posterior_cdf(evidence, reconcile(evidence).z), 0.5, 1e-3);
    EXPECT_NEAR(posterior_cdf(evidence, normal::quantile(p95.low)), 0.025, 1e-3);
    EXPECT_NEAR(posterior_cdf(evidence, normal::quantile(p95.high)), 0.975, 1e-3);
  }
}

TEST(Intervals, CountsHave90Percent) {
  EXPECT_NEAR(counted_interval(20, 20).low, std::pow(0.05, 1 / 20.0), 1e-9);
  EXPECT_EQ(counted_interval(20, 20).high, 1);
  EXPECT_EQ(counted_interval(0, 7).low, 0);
  EXPECT_NEAR(counted_interval(0, 7).high, 1 - std::pow(0.05, 1 / 7.0), 1e-9);
}

// A confident model must not exclude values that the samples do not contradict.
TEST(Intervals, ReconciledIntervalsContainThoseOfTheCounts) {
  Estimate sure = normal_estimate(4);
  attach_interval(sure, 0.01, 50, 50, 1);
  EXPECT_NEAR(*sure.ci_low, std::pow(0.05, 1 / 50.0), 1e-9);
  Estimate lost = normal_estimate(-4);
  attach_interval(lost, 0.01, 0, 50, 1);
  EXPECT_NEAR(*lost.ci_high, 1 - std::pow(0.05, 1 / 50.0), 1e-9);
}

// Intervals assume five times the model error that estimates do, which is 0.02 + 0.015 |z|, and that the model explains none of
// the variance of the counts.
TEST(Intervals, ReconciledIntervalsInflateTheModelErrorFivefold) {
  Estimate estimate = normal_estimate(1);  // p = 0.84, but 95 of 100 samples survive
  attach_interval(estimate, 0.02, 95, 100, 1);
  const Interval cautious = reconciled_p95({1, 0.02, 95, 100, 5 * 0.035, 0});
  const Reconciled plain = reconcile({1, 0.02, 95, 100, 0.035});
  ASSERT_LT(cautious.low, counted_interval(95, 100).low);
  EXPECT_NEAR(*estimate.ci_low, cautious.low, 1e-12);
  EXPECT_NEAR(estimate.p, normal::cdf(plain.z), 1e-12);
  EXPECT_NEAR(*estimate.std_error, plain.std_error, 1e-12);
}

// The model error applies only to the sampled share of the margins.
TEST(Intervals, ReconciledIntervalsInflateOnlyTheSampledPart) {
  Estimate estimate = normal_estimate(1);
  attach_interval(estimate, 0.02, 95, 100, 0.5);
  EXPECT_NEAR(*estimate.ci_low, reconciled_p95({1, 0.02, 95, 100, 2.5 * 0.035, 0}).low, 1e-12);
}

// The interval of a curve follows from its standard error, in units of z.
TEST(Intervals, SmoothedCurvesHave95Percent) {
  std::vector<CurvePoint> points;
  for (const double sigma : {0.1, 0.2, 0.4, 0.8, 1.6})
    points.push_back({sigma, normal::cdf(0.5 / sigma), normal::complement(0.5 / sigma), 100});
  for (const CurveValue& value : smooth_curve(points)) {
    const double z = value.p < 0.5 ? normal::quantile(value.p) : -normal::quantile(value.p_fail);
    const double error = value.std_error / normal::pdf(z);
    EXPECT_GT(error, 0.01);
    EXPECT_NEAR(value.ci_low, normal::cdf(z - kTwoSided95 * error), 1e-9);
    EXPECT_NEAR(value.ci_high, normal::cdf(z + kTwoSided95 * error), 1e-9);
  }
}

// With very many samples, other scales add nothing: each scale has its own error.
TEST(Intervals, SmoothedCurvesStartFromEachScalesError) {
  constexpr double kCopies = 1e8;
  std::vector<CurvePoint> points;
  const std::array<double, 4> z{3, 1, -0.5, -2.5};
  for (std::size_t i = 0; i < z.size(); ++i)
    points.push_back({0.1 * std::pow(3.0, static_cast<double>(i)), normal::cdf(z[i]), normal::complement(z[i]), kCopies});
  const std::vector<CurveValue> curve = smooth_curve(points);
  for (std::size_t i = 0; i < z.size(); ++i)
    EXPECT_NEAR(curve[i].std_error / normal::pdf(z[i]) / std::sqrt((1 + z[i] * z[i] / 2) / kCopies), 1, 0.02) << i;
}

// p_fail is nearly lognormal; an interval of half the width would cover 68%.
TEST(Intervals, SubsetCovers95Percent) {
  constexpr std::int64_t kRuns = 200;
  const double truth = normal::complement(3.0);
  std::int64_t covered = 0;
  for (const Estimate& estimate : estimates(half_space(3), copies_of_origin(kRuns), "subset:4000"))
    covered += 1 - *estimate.ci_high <= truth && truth <= 1 - *estimate.ci_low ? 1 : 0;
  EXPECT_GE(covered, kRuns * 88 / 100);
  EXPECT_LE(covered, kRuns * 99 / 100);
}

// The prediction survives in all 64 samples of the first look. The likelihood ratio, mixed over a uniform prior, is 1 / ((n +
// 1) p^n) at p. It must reach 20 to reject p at 5%.
TEST(Intervals, DecisionsErrAtMostIn5Percent) {
  const Estimate estimate = estimates(half_space(50), copies_of_origin(1), "mc:p>0.5")[0];
  EXPECT_EQ(estimate.status, Status::decided);
  EXPECT_EQ(estimate.forwards, 64);
  EXPECT_NEAR(*estimate.ci_low, std::pow(1 / (20.0 * 65), 1 / 64.0), 1e-9);
  EXPECT_EQ(*estimate.ci_high, 1);
}

// tau is between the ends of the first look's 90% and 95% intervals, so there is no decision yet.
TEST(Intervals, DecisionsWaitFor95Percent) {
  const double tau = (std::pow(1 / (20.0 * 65), 1 / 64.0) + std::pow(1 / (10.0 * 65), 1 / 64.0)) / 2;
  const Estimate estimate = estimates(half_space(50), copies_of_origin(1), "mc:p>" + std::to_string(tau))[0];
  EXPECT_EQ(estimate.status, Status::decided);
  EXPECT_EQ(estimate.forwards, 128);
}

// The pilot determines the sample size, so its samples must not be counted again.
TEST(Intervals, HalfWidthsDoNotCountThePilot) {
  constexpr std::int64_t kPilot = 150;
  const Graph graph = half_space(0.8F);
  const auto executor = make_executor("cpu", graph, {}).value();
  const Noise noise{isotropic_gaussian(), 1};
  bool differ = false;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Points points = copies_of_origin(1, seed);
    const Estimate estimate = estimates(graph, points, "mc:\302\2610.05")[0];
    const std::int64_t trials = estimate.forwards - kPilot;
    const std::int64_t kept = executor->sample(points, noise, trials, kPilot).value()[0][0];
    differ = differ || kept != executor->sample(points, noise, trials).value()[0][0];
    EXPECT_NEAR(estimate.p, static_cast<double>(kept) / static_cast<double>(trials), 1e-12);
    const Interval interval = clopper_pearson(kept, trials);
    EXPECT_NEAR(*estimate.ci_low, interval.low, 1e-12);
    EXPECT_NEAR(*estimate.ci_high, interval.high, 1e-12);
  }
  EXPECT_TRUE(differ);
}

}  // namespace
}  // namespace probust
