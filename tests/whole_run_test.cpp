// SPDX-License-Identifier: MIT
// Decisions that use all estimates of a run: the number of samples for each point, and the bias of a model.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "probust/analysis/calibration.h"
#include "probust/estimators/schedule.h"
#include "probust/normal/univariate.h"
#include "probust/ops/append.h"
#include "support/networks.h"

namespace probust {
namespace {

TEST(Schedule, SamplesAreProportionalToTheCubeRootOfTheVariance) {
  const std::vector<double> variances = {1, 1.0 / 8, 1.0 / 64, 0, 0.125};
  for (const std::int64_t total : {400, 1000, 100000}) {
    const auto copies = allocate(variances, total);
    const std::int64_t sum = std::accumulate(copies.begin(), copies.end(), std::int64_t{0});
    EXPECT_LE(sum, total);
    EXPECT_GT(static_cast<double>(sum), 0.9 * static_cast<double>(total));
    EXPECT_NEAR(static_cast<double>(copies[0]) / static_cast<double>(copies[1]), 2, 0.3);
    EXPECT_NEAR(static_cast<double>(copies[1]) / static_cast<double>(copies[2]), 2, 0.3);
    EXPECT_EQ(copies[1], copies[4]);
    EXPECT_EQ(copies[3], 8);
    for (const std::int64_t n : copies) EXPECT_EQ(n % 2, 0);
  }
  EXPECT_EQ(allocate(variances, 40), (std::vector<std::int64_t>(5, 8)));
  EXPECT_THROW((void)allocate(variances, 39), Error);
  EXPECT_EQ(allocate(std::vector<double>{0, 0}, 1000), (std::vector<std::int64_t>{8, 8}));
  EXPECT_EQ(allocate(std::vector<double>{1, 0}, std::int64_t{1} << 40)[0], std::int64_t{1} << 30);  // the maximum per point
}

// Points between the boundary of a linear two-class classifier and 15 standard deviations away, so that p is nearly 1 for most.
struct Line {
  static constexpr std::int64_t kPoints = 80;

  explicit Line(std::uint64_t seed) : executor(make_executor("cpu", graph(), {}).value()) {
    points.x = Tensor({kPoints, 2});
    for (std::int64_t i = 0; i < kPoints; ++i) {
      const double z = 15.0 * (static_cast<double>(i) + 0.5) / kPoints;
      points.x.row(i)[0] = static_cast<float>(z);
      points.index.push_back(i);
      truth.push_back(normal::cdf(z));
    }
    points.target.assign(kPoints, 0);
    points.seed = seed;
    logits = executor->logits(points.x).value();
  }
  static Graph graph() { return test::linear_classifier(Tensor({2, 2}, {1, 0, 0, 0}), Tensor({2})); }

  double error(const std::vector<Estimate>& estimates) const {
    double sum = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) sum += std::fabs(estimates[i].p - truth[i]) / kPoints;
    return sum;
  }

  std::unique_ptr<Executor> executor;
  Points points;
  Tensor logits;
  std::vector<double> truth;
};

// Clipped far away, so that no estimator treats the noise as Gaussian and computes the exact result from gradients.
const Noise kUnit{clipped(isotropic_gaussian(), {-100, 100, 0}), 1};

// Over eight seeds of 80 points, the ratio is 0.65.
TEST(Schedule, ATotalReducesTheMeanError) {
  double equal = 0, scheduled = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Line line(seed);
    Evaluation evaluation(*line.executor, line.points, line.logits);
    const auto each = estimate(evaluation, kUnit, parse_estimator("auto:50:independent")).value();
    const auto shared = estimate_within(*line.executor, line.points, line.logits, std::span(&kUnit, 1), {}, 50 * 80).value()[0];
    equal += line.error(each);
    scheduled += line.error(shared);
    std::int64_t spent = 0;
    for (const Estimate& one : shared) spent += one.forwards + one.backwards;
    EXPECT_LE(spent, 50 * 80);
    EXPECT_GT(spent, 45 * 80);
    EXPECT_GT(shared[10].forwards, 2 * shared[75].forwards);
    EXPECT_EQ(shared[75].method->definition->name, "probit");
  }
  EXPECT_LT(scheduled, 0.85 * equal) << scheduled / equal;
}

// Noise models share the total: the one under which the prediction hardly changes gets the least.
TEST(Schedule, NoiseModelsShareTheTotal) {
  Line line(0);
  const std::vector<Noise> noises = {{kUnit.shape, 1e-4}, kUnit};
  const auto estimates = estimate_within(*line.executor, line.points, line.logits, noises, {}, 40 * 160).value();
  ASSERT_EQ(estimates.size(), 2U);
  EXPECT_EQ(estimates[0][40].forwards, 20);
  EXPECT_GT(estimates[1][2].forwards, 60);
}

TEST(Schedule, SupportsOtherEventsAndRejectsTooSmallTotals) {
  Line line(0);
  const Event top{{}, false, 2};
  const auto estimates = estimate_within(*line.executor, line.points, line.logits, std::span(&kUnit, 1), top, 30 * 80).value()[0];
  EXPECT_EQ(estimates[0].p, 1);
  EXPECT_EQ(estimates[0].method->definition->name, "mc");
  const auto refused = estimate_within(*line.executor, line.points, line.logits, std::span(&kUnit, 1), {}, 20 * 80 - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  EXPECT_NE(refused.error().message().find("1600"), std::string::npos) << refused.error().message();
}

// Rectified logits tie at zero; a normal model treats a tie like a coin toss.
Graph rectified() {
  Graph g = test::linear_classifier(Tensor({3, 4}, {1, 0, 1, 0, 0, 1, 0, -1, -1, -1, 0, 1}), Tensor({3}, {-0.2F, -0.4F, -0.3F}));
  g.outputs = {append(g, Op::relu, {g.outputs[0]})};
  return g;
}

double mean_p(const std::vector<Estimate>& estimates) {
  double sum = 0;
  for (const Estimate& estimate : estimates) sum += estimate.p / static_cast<double>(estimates.size());
  return sum;
}

TEST(Calibration, RemovesMostOfAKnownBias) {
  std::mt19937 random(7);
  const auto executor = make_executor("cpu", rectified(), {}).value();
  const std::int64_t n = 300;
  Points points{Tensor({n, 4}), std::vector<std::int64_t>(n), {}, 99};
  std::iota(points.index.begin(), points.index.end(), 0);
  for (float& value : points.x.data) value = static_cast<float>(random() % 2001) / 1000 - 1;
  const Tensor logits = executor->logits(points.x).value();
  for (std::int64_t i = 0; i < n; ++i) points.target.push_back(argmax(logits.row(i)));
  const Noise noise{isotropic_gaussian(), 0.5};
  const auto run = [&](const char* text) {
    Evaluation evaluation(*executor, points, logits);
    return estimate(evaluation, noise, parse_estimator(text)).value();
  };
  const double truth = mean_p(run("mc:20000"));
  for (const char* text : {"probit:60", "regression:60"}) {
    double before = 0, after = 0;
    for (points.seed = 0; points.seed < 3; ++points.seed) {
      auto estimates = run(text);
      const double plain = mean_p(estimates);
      const Calibration calibration = calibrate(estimates);
      EXPECT_GT(calibration.points, 250);
      EXPECT_EQ(estimates[0].note, "calibrated on the counts of all points");
      ;
      before += std::fabs(plain - truth) / 3;
      after += std::fabs(mean_p(estimates) - truth) / 3;
      for (const Estimate& one : estimates) {
        EXPECT_LE(*one.ci_low, one.p);
        EXPECT_GE(*one.ci_high, one.p);
        EXPECT_NEAR(one.p + one.p_fail, 1, 1e-12);
      }
    }
    EXPECT_GT(before, 0.008) << text;
    EXPECT_LT(after, 0.6 * before) << text << ' ' << before << ' ' << after;
  }
}

Estimate counted(double z, std::int64_t survivors, std::int64_t samples) {
  Estimate estimate;
  estimate.p = normal::cdf(z);
  estimate.p_fail = normal::complement(z);
  estimate.survivors = survivors;
  estimate.model_samples = samples;
  return estimate;
}

TEST(Calibration, AConstantShiftIsFound) {
  std::vector<Estimate> estimates;
  for (int i = 0; i < 400; ++i) {
    const double z = -1 + 0.01 * i;
    estimates.push_back(counted(z, std::llround(10000 * normal::cdf(z - 0.05)), 10000));
  }
  estimates.push_back(counted(30, 10000, 10000));  // far in the tail: no cancellation, no jump
  const auto before = estimates;
  const Calibration calibration = calibrate(estimates);
  EXPECT_EQ(calibration.points, 401);
  EXPECT_LT(calibration.after, calibration.before);
  for (std::size_t i = 0; i < 400; ++i) EXPECT_NEAR(estimates[i].p, normal::cdf(-1.05 + 0.01 * static_cast<double>(i)), 0.002);
  EXPECT_NEAR(std::log(estimates[400].p_fail) / std::log(before[400].p_fail), 1, 0.05);
}

// A point's own samples must not influence its own calibration.
TEST(Calibration, IsCrossFitted) {
  std::vector<Estimate> one, other;
  for (int i = 0; i < 60; ++i) one.push_back(counted(0.02 * i, 40 + i % 3, 60));
  other = one;
  other[17].survivors = 5;
  (void)calibrate(one);
  (void)calibrate(other);
  EXPECT_EQ(one[17].p, other[17].p);
  EXPECT_EQ(one[27].p, other[27].p);
  EXPECT_NE(one[18].p, other[18].p);
}

TEST(Calibration, LeavesEstimatesWithoutCountsUnchanged) {
  std::vector<Estimate> few(29, counted(1, 40, 60));
  EXPECT_EQ(calibrate(few).points, 0);
  EXPECT_EQ(few[0].status, Status::ok);
  std::vector<Estimate> mixed(40, counted(1, 40, 60));
  mixed[3] = counted(1, 0, 0);
  mixed[4].p = mixed[4].p_fail = std::numeric_limits<double>::quiet_NaN();
  mixed[4].status = Status::nonfinite;
  EXPECT_EQ(calibrate(mixed).points, 38);
  EXPECT_EQ(mixed[3].p, normal::cdf(1));
  EXPECT_EQ(mixed[4].status, Status::nonfinite);
  EXPECT_LT(mixed[5].p, normal::cdf(1));
}

}  // namespace
}  // namespace probust
