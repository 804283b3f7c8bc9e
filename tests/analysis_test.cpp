// SPDX-License-Identifier: MIT
// Analysis of estimates: statistics, curves, boundaries, curvature, slices; and classifiers with known results.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "probust/analysis/curve.h"
#include "probust/analysis/geometry/boundary.h"
#include "probust/analysis/geometry/cloud.h"
#include "probust/analysis/geometry/curvature.h"
#include "probust/analysis/geometry/slice.h"
#include "probust/analysis/scale_process.h"
#include "probust/analysis/statistics.h"
#include "probust/perturb/noise_text.h"
#include "support/known_problems.h"
#include "support/networks.h"

namespace probust {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr float kNanFloat = std::numeric_limits<float>::quiet_NaN();

/// A classifier and points; the targets are its own predictions.
struct Setting {
  std::unique_ptr<Executor> executor;
  Points points;
  Tensor logits;
};

Setting setting(const Graph& graph, const std::vector<std::vector<float>>& rows, std::uint64_t seed = 0) {
  Setting s{make_executor("cpu", graph, {}).value(), {}, {}};
  Shape shape = s.executor->point_shape();
  shape.insert(shape.begin(), static_cast<std::int64_t>(rows.size()));
  std::vector<float> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  s.points.x = Tensor(shape, values);
  s.points.seed = seed;
  s.logits = s.executor->logits(s.points.x).value();
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rows.size()); ++i) {
    s.points.index.push_back(i);
    s.points.target.push_back(argmax(s.logits.row(i)));
  }
  return s;
}

std::vector<Estimate> estimates(Setting& s, double sigma, const std::string& estimator) {
  Evaluation evaluation(*s.executor, s.points, s.logits);
  return estimate(evaluation, {isotropic_gaussian(), sigma}, parse_estimator(estimator)).value();
}

// ---- statistics

TEST(Statistics, RanksShareTies) {
  EXPECT_EQ(ranks(std::vector<double>{3, 1, 2, 1, 3, 3}), (std::vector<double>{5, 1.5, 3, 1.5, 5, 5}));
  EXPECT_EQ(ranks(std::vector<double>{kNan, 2, 1}), (std::vector<double>{3, 2, 1}));
}

TEST(Statistics, CorrelationsOfKnownColumns) {
  const std::vector<double> a = {1, 2, 3, 4, 5}, squares = {1, 4, 9, 16, 25}, down = {5, 4, 3, 2, 1},
                            flat = {0.1, 0.1, 0.1, 0.1, 0.1};
  EXPECT_NEAR(pearson(a, squares), 0.98110491, 1e-8);
  EXPECT_NEAR(spearman(a, squares), 1, 1e-15);
  EXPECT_NEAR(pearson(a, down), -1, 1e-15);
  EXPECT_TRUE(std::isnan(pearson(a, flat)));
  EXPECT_TRUE(std::isnan(pearson(flat, flat)));
  // Ties: ranks 1.5 1.5 3 4 against 1 2 3 4.
  EXPECT_NEAR(spearman(std::vector<double>{7, 7, 8, 9}, std::vector<double>{1, 2, 3, 4}), 4.5 / std::sqrt(4.5 * 5), 1e-12);
  EXPECT_THROW(pearson(a, std::vector<double>{1}), Error);
}

TEST(Statistics, AgreementIgnoresNaN) {
  const Agreement both = agreement(std::vector<double>{0.5, 0.7, kNan, 0.9}, std::vector<double>{0.4, 0.9, 0.1, 0.9});
  EXPECT_EQ(both.count, 3);
  EXPECT_NEAR(both.mae, 0.1, 1e-12);
  EXPECT_NEAR(both.bias, -1.0 / 30, 1e-12);
  EXPECT_NEAR(both.largest, 0.2, 1e-12);
}

// Of 40 points, four in five have p = 1. `common` is the variance of an error that all points share.
std::vector<double> skewed_probabilities(std::mt19937& random, double common) {
  std::uniform_real_distribution<double> uniform;
  const double error = common > 0 ? std::normal_distribution<double>(0, std::sqrt(common))(random) : 0;
  std::vector<double> p(40);
  for (double& each : p) each = error + (uniform(random) < 0.8 ? 1 : uniform(random));
  return p;
}

// Student's interval would be above the mean in 7.7% of the cases; with a skewness that ignores the common error, in 0.03%.
TEST(Statistics, IntervalsOfSkewedMeansCover) {
  constexpr int kSamples = 4000;
  std::mt19937 random(5);
  for (const double common : {0.0, 5e-4}) {
    int above = 0, below = 0;
    for (int sample = 0; sample < kSamples; ++sample) {
      const MeanInterval mean = mean_probability(skewed_probabilities(random, common), 0.95, common);
      above += mean.low > 0.9 ? 1 : 0;
      below += mean.high < 0.9 ? 1 : 0;
    }
    EXPECT_LT(above, 0.035 * kSamples) << common;
    EXPECT_LT(below, 0.035 * kSamples) << common;
    EXPECT_GT(above + below, 0.015 * kSamples) << common;
    EXPECT_TRUE(common == 0 || above > 0.01 * kSamples) << above;
  }
}

TEST(Statistics, IntervalsOfSkewedMeansAreDefined) {
  const auto mean_of = [](std::vector<double> p) { return mean_probability(p); };
  EXPECT_EQ(mean_of({0.25, 0.25, 0.25}).low, mean_of({0.25, 0.25, 0.25}).high);
  EXPECT_NEAR(mean_of({0.5, 0.51}).high - 0.505, 12.7062047364 * 0.005, 1e-9);
  const MeanInterval tiny = mean_of({1e-120, 2e-120, 5e-120}), same = mean_of({0.01, 0.02, 0.05});
  EXPECT_NEAR(tiny.high / 1e-120, same.high / 0.01, 1e-6);
}

TEST(Statistics, MeansHaveStudentsInterval) {
  const MeanInterval five = mean_interval(std::vector<double>{1, 2, 3, 4, 5, kNan});
  EXPECT_EQ(five.count, 5);
  EXPECT_NEAR(five.mean, 3, 1e-15);
  EXPECT_NEAR(five.high - five.mean, 2.7764451052 * std::sqrt(0.5), 1e-8);
  EXPECT_NEAR(mean_interval(std::vector<double>{0, 1}).high - 0.5, 12.7062047364 * 0.5, 1e-7);
  EXPECT_TRUE(std::isinf(mean_interval(std::vector<double>{1}).high));
  const ClassBias bias = class_bias(std::vector<double>{1, 0.5, 0.9, 0.7}, std::vector<std::int64_t>{0, 2, 0, 2}, 3);
  EXPECT_NEAR(bias.classes[0].mean, 0.95, 1e-12);
  EXPECT_EQ(bias.classes[1].count, 0);
  EXPECT_NEAR(bias.classes[2].mean, 0.6, 1e-12);
  EXPECT_NEAR(bias.all.mean, 0.775, 1e-12);
  EXPECT_THROW(class_bias(std::vector<double>{1}, std::vector<std::int64_t>{0}, -1), Error);
}

// ---- classifiers with known answers

TEST(KnownProblems, RightAngle) {
  const Graph rule = test::right_angle(0.5F, -0.2F);
  Setting s = setting(rule, {{0.9F, 0.1F}, {0.6F, 0.9F}, {0.1F, 0.3F}, {0.2F, -0.9F}, {2.0F, -0.3F}});
  for (const double sigma : {0.2, 0.7}) {
    const auto sampled = estimates(s, sigma, "mc:40000");
    for (std::int64_t i = 0; i < s.points.size(); ++i) {
      const double past1 = s.points.x.row(i)[0] - 0.5, past2 = s.points.x.row(i)[1] + 0.2;
      EXPECT_NEAR(sampled[i].p, test::right_angle_kept(past1, past2, sigma, sigma), 4 * *sampled[i].std_error + 1e-4) << i;
    }
  }
}

TEST(KnownProblems, BallsAndAnnuli) {
  const double sigma = 0.4;
  Setting inside = setting(test::ball(3, 1), {{0, 0, 0}, {0.3F, 0.4F, 0}, {0, 0, 1.5F}});
  Setting ring = setting(test::annulus(3, 0.5F, 1.5F), {{0.6F, 0.8F, 0}, {0, 0, 0.1F}});
  const auto in_ball = estimates(inside, sigma, "mc:40000"), in_ring = estimates(ring, sigma, "mc:40000");
  for (const std::int64_t i : {0, 1, 2}) {
    const double length = i == 0 ? 0 : i == 1 ? 0.5 : 1.5, out = test::outside_ball(length, 1, sigma);
    EXPECT_NEAR(in_ball[i].p, i == 2 ? out : 1 - out, 4 * *in_ball[i].std_error + 1e-4);
  }
  const auto between = [&](double l) { return test::outside_ball(l, 0.5, sigma) - test::outside_ball(l, 1.5, sigma); };
  EXPECT_NEAR(in_ring[0].p, between(1), 4 * *in_ring[0].std_error);
  EXPECT_NEAR(in_ring[1].p, 1 - between(0.1), 4 * *in_ring[1].std_error);
}

// Linear models whose margin gradients all have length k: the mv-sigmoid of Taylor's z equals the softmax at temperature sigma k
// (Han et al., section 3.3).
TEST(KnownProblems, SoftmaxIsTaylorMvsWhereNormsAreEqual) {
  const float s = std::sqrt(0.5F);  // rows whose differences have length 1
  const Graph simplex = test::linear_classifier(Tensor({3, 3}, {s, 0, 0, 0, s, 0, 0, 0, s}), Tensor({3}, {0.2F, 0, -0.1F}));
  for (const double sigma : {0.1, 0.5, 2.0}) {
    Setting s2 = setting(simplex, {{0.3F, 0.2F, 0.1F}, {-1, 0.4F, 0.5F}});
    const auto mvs = estimates(s2, sigma, "taylor_mvs"), soft = estimates(s2, sigma, "softmax:" + std::to_string(sigma));
    for (const int i : {0, 1}) EXPECT_NEAR(mvs[i].p, soft[i].p, 1e-6) << sigma;
  }
}

// ---- rare failures

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

TEST(RareFailures, SubsetFindsLinearAndQuadraticOnes) {
  std::vector<double> decades;
  const Graph plane = test::linear_classifier(Tensor({2, 4}, {1, 2, -1, 0.5F, 0, 0, 0, 0}), Tensor({2}, {0, 0}));
  const Graph sphere = test::ball(3, 1);
  for (const double q : {1e-3, 1e-5, 1e-7, 1e-9}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const double distance = -normal::quantile(q), length2 = 6.25;
      Setting linear = setting(plane, {{1, 2, -1, 0.5F}}, seed);
      const double sigma = length2 / std::sqrt(length2) / distance;
      decades.push_back(std::abs(std::log10(estimates(linear, sigma, "subset:5000")[0].p_fail / q)));
      Setting round = setting(sphere, {{0.3F, 0.4F, 0}}, seed);
      double low = 0.01, high = 1;  // bounds of the sigma at which failure is this rare
      for (int k = 0; k < 60; ++k) (test::outside_ball(0.5, 1, 0.5 * (low + high)) < q ? low : high) = 0.5 * (low + high);
      decades.push_back(std::abs(std::log10(estimates(round, low, "subset:5000")[0].p_fail / q)));
    }
  }
  RecordProperty("median_decades", std::to_string(median(decades)));
  RecordProperty("largest_decades", std::to_string(*std::max_element(decades.begin(), decades.end())));
  EXPECT_LT(median(decades), 0.3);
  EXPECT_LT(*std::max_element(decades.begin(), decades.end()), 1.5);
}

// ---- curves

TEST(Curve, SmoothingReproducesAQuadratic) {
  std::vector<CurvePoint> points;
  for (const double sigma : {0.05, 0.1, 0.2, 0.4, 0.8}) {
    const double t = std::log(sigma), z = 0.5 - 0.8 * t + 0.1 * t * t;
    points.push_back({sigma, normal::cdf(z), normal::complement(z), 1e6});
  }
  const auto smooth = smooth_curve(points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_NEAR(smooth[i].p, points[i].p, 2e-4);
    EXPECT_LT(smooth[i].ci_low, smooth[i].p);
    EXPECT_GT(smooth[i].ci_high, smooth[i].p);
    EXPECT_NEAR(smooth[i].p + smooth[i].p_fail, 1, 1e-15);
  }
}

TEST(Curve, ShortOrBrokenCurvesAreNotSmoothed) {
  const auto two = smooth_curve(std::vector<CurvePoint>{{0.1, 0.9, 0.1, 50}, {0.2, 0.7, 0.3, 50}});
  EXPECT_EQ(two[0].p, 0.9);
  const auto broken = smooth_curve(std::vector<CurvePoint>{{0.1, 0.9, 0.1, 50}, {0.2, kNan, kNan, 50}, {0.3, 0.6, 0.4, 50}});
  EXPECT_EQ(broken[2].p, 0.6);
  for (const CurveValue& value : smooth_curve(std::vector<CurvePoint>{{0.1, 1, 0, 50}, {0.2, 1, 0, 50}, {0.3, 0.98, 0.02, 50}})) {
    EXPECT_TRUE(value.p > 0.9 && value.p <= 1 && value.ci_low <= value.p && value.p <= value.ci_high);
  }
}

// Eight scales with 24 forwards each: compares smoothed estimates with the same estimates without smoothing.
TEST(Curve, SmoothingHalvesTheErrorOfASweep) {
  std::vector<std::vector<float>> rows;
  NoiseStream random(5, 0, 0, 0);
  for (int i = 0; i < 16; ++i) {
    rows.emplace_back(64);
    for (float& x : rows.back()) x = static_cast<float>(random.uniform());
  }
  Setting s = setting(test::small_cnn(), rows);
  const std::vector<double> sigmas = {0.1, 0.15, 0.22, 0.33, 0.5, 0.7, 1.0, 1.5};
  const auto curve =
      estimate_curve(*s.executor, s.points, s.logits, isotropic_gaussian(), sigmas, parse_estimator("probit:24")).value();
  double smooth = 0, single = 0;
  int covered = 0, count = 0;
  for (std::size_t k = 0; k < sigmas.size(); ++k) {
    s.points.seed = 99;
    const auto truth = estimates(s, sigmas[k], "mc:20000");
    s.points.seed = 7 + k;
    const auto alone = estimates(s, sigmas[k], "probit:24");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      smooth += std::abs(curve[k][i].p - truth[i].p);
      single += std::abs(alone[i].p - truth[i].p);
      covered += *curve[k][i].ci_low <= truth[i].p && truth[i].p <= *curve[k][i].ci_high ? 1 : 0;
      ++count;
    }
    EXPECT_EQ(curve[k][0].status, Status::ok);
    EXPECT_EQ(curve[k][0].note, "smoothed over 8 scales");
    ;
  }
  EXPECT_LT(smooth / single, 0.7) << smooth / count << " against " << single / count;
  EXPECT_GT(static_cast<double>(covered) / count, 0.8);
  RecordProperty("ratio", std::to_string(smooth / single));
}

// Estimators that are not normal probabilities of margins are not smoothed.
TEST(Curve, SharesAreNotSmoothed) {
  Setting s = setting(test::ball(3, 1), {{0, 0, 0}});
  const std::vector<double> sigmas = {0.1, 0.2, 0.4};
  const auto shares =
      estimate_curve(*s.executor, s.points, s.logits, isotropic_gaussian(), sigmas, parse_estimator("mc:100")).value();
  EXPECT_EQ(shares[2][0].p, estimates(s, 0.4, "mc:100")[0].p);
  EXPECT_EQ(shares[2][0].status, Status::ok);
  const auto chosen =
      estimate_curve(*s.executor, s.points, s.logits, isotropic_gaussian(), sigmas, parse_estimator("auto:24")).value();
  EXPECT_EQ(chosen[2][0].status, Status::ok);
  EXPECT_EQ(chosen[2][0].method->text(), "probit:24");
  EXPECT_EQ(chosen[2][0].note, "smoothed over 3 scales");
  ;
}

// Means are exact, and all scales share the covariance, so the error is about that of eight times as many samples.
TEST(Curve, LinearMarginsHaveOneCovarianceAtEveryScale) {
  const std::vector<double> sigmas = {0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
  double smooth = 0, single = 0;
  int count = 0, covered = 0;
  for (std::uint32_t problem = 0; problem < 6; ++problem) {
    NoiseStream random(11, problem, 0, 0);  // the same problems with every standard library
    const auto drawn = [&](const Shape& shape) {
      Tensor tensor(shape);
      for (float& value : tensor.data) value = static_cast<float>(2 * random.uniform() - 1);
      return tensor;
    };
    const Tensor weights = drawn({5, 8}), bias = drawn({5});
    std::vector<std::vector<float>> rows(24);
    for (auto& row : rows) row = drawn({8}).data;
    Setting s = setting(test::linear_classifier(weights, bias), rows, 3);
    const auto curve =
        estimate_curve(*s.executor, s.points, s.logits, isotropic_gaussian(), sigmas, parse_estimator("probit:24")).value();
    for (std::size_t k = 0; k < sigmas.size(); ++k) {
      const auto truth = estimates(s, sigmas[k], "taylor"), alone = estimates(s, sigmas[k], "probit:24");
      for (std::size_t i = 0; i < rows.size(); ++i, ++count) {
        smooth += std::abs(curve[k][i].p - truth[i].p);
        single += std::abs(alone[i].p - truth[i].p);
        covered += *curve[k][i].ci_low <= truth[i].p && truth[i].p <= *curve[k][i].ci_high;
      }
    }
  }
  EXPECT_LT(smooth / single, 0.55) << smooth / single;  // 0.35 if only the number of samples mattered
  EXPECT_GT(static_cast<double>(covered) / count, 0.97) << covered << " of " << count;
}

// With a hundred classes, the same rivals are used at all scales.
TEST(Curve, ManyClassesAreSmoothedToo) {
  std::mt19937 random(4);
  Setting s = setting(test::linear_classifier(test::random_tensor({100, 40}, random), test::random_tensor({100}, random)),
                      {test::random_tensor({40}, random).data});
  const std::vector<double> sigmas = {0.1, 0.15, 0.2, 0.3};
  const auto curve =
      estimate_curve(*s.executor, s.points, s.logits, isotropic_gaussian(), sigmas, parse_estimator("probit:200")).value();
  for (std::size_t k = 0; k < sigmas.size(); ++k) {
    EXPECT_NEAR(curve[k][0].p, estimates(s, sigmas[k], "taylor")[0].p, 0.05) << sigmas[k];
    EXPECT_NE(curve[k][0].note.find("smoothed over 4 scales"), std::string::npos) << curve[k][0].note;
    EXPECT_EQ(curve[k][0].forwards, 200);
  }
}

// A scale at which numbers overflow does not affect other scales, and a broken point does not affect its neighbours.
TEST(Curve, BrokenScalesAndPointsAreNotSmoothed) {
  Setting s = setting(test::ball(3, 1), {{0.5F, 0, 0}, {kNanFloat, 0, 0}});
  s.points.target = {0, 0};
  const std::vector<double> sigmas = {0.1, 0.2, 1e30};
  const auto curve =
      estimate_curve(*s.executor, s.points, s.logits, isotropic_gaussian(), sigmas, parse_estimator("probit:50")).value();
  EXPECT_TRUE(std::isfinite(curve[0][0].p));
  EXPECT_EQ(curve[0][0].status, Status::ok);
  EXPECT_EQ(curve[2][0].status, Status::nonfinite);
  EXPECT_EQ(curve[0][1].status, Status::nonfinite);
  EXPECT_EQ(curve[0][1].forwards, 50);
  EXPECT_TRUE(std::isnan(curve[0][1].p));
}

// If noise is not a multiple of one draw, margins cannot be shared between scales, so p itself is smoothed.
TEST(Curve, ClippedNoiseIsSmoothedByItsProbabilities) {
  Setting s = setting(test::ball(3, 1), {{0.5F, 0, 0}});
  const std::vector<double> sigmas = {0.1, 0.2, 0.4, 0.8};
  const auto noise = clipped(isotropic_gaussian(), {-0.6F, 0.6F, 0});
  const auto curve = estimate_curve(*s.executor, s.points, s.logits, noise, sigmas, parse_estimator("probit:100")).value();
  s.points.seed = 5;
  Evaluation evaluation(*s.executor, s.points, s.logits);
  for (std::size_t k = 0; k < sigmas.size(); ++k) {
    const Estimate truth = estimate(evaluation, {noise, sigmas[k]}, parse_estimator("mc:20000")).value()[0];
    EXPECT_NEAR(curve[k][0].p, truth.p, 0.08) << sigmas[k];
    EXPECT_EQ(curve[k][0].status, Status::ok);
    EXPECT_NE(curve[k][0].note.find("smoothed over 4 scales"), std::string::npos) << curve[k][0].note;
    ;
  }
}

// Over a wide sweep, margins are not a simple function of the scale: smoothing must not increase the error, and intervals must
// contain the truth.
TEST(Curve, WideSweepsAreNoWorse) {
  Setting s = setting(test::ball(3, 1), {{0.5F, 0, 0}, {0.2F, 0.1F, 0}, {0.9F, 0, 0}});
  const std::vector<double> sigmas = {0.01, 0.03, 0.1, 0.2, 0.4, 0.8, 1.6, 3, 10};
  double smooth = 0, single = 0;
  int covered = 0, count = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    s.points.seed = seed;
    for (const char* text : {"probit:200", "regression:56"}) {
      const auto curve =
          estimate_curve(*s.executor, s.points, s.logits, isotropic_gaussian(), sigmas, parse_estimator(text)).value();
      for (std::size_t k = 0; k < sigmas.size(); ++k) {
        const auto alone = estimates(s, sigmas[k], text);
        for (std::size_t i = 0; i < 3; ++i) {
          const double l = Eigen::Map<const Eigen::Vector3f>(s.points.x.row(static_cast<std::int64_t>(i)).data()).norm();
          const double outside = test::outside_ball(l, 1, sigmas[k]);
          const double truth = s.points.target[i] == argmax(s.logits.row(static_cast<std::int64_t>(i))) ? 1 - outside : outside;
          smooth += std::abs(curve[k][i].p - truth);
          single += std::abs(alone[i].p - truth);
          covered += *curve[k][i].ci_low <= truth + 1e-9 && truth <= *curve[k][i].ci_high + 1e-9 ? 1 : 0;
          ++count;
        }
      }
    }
  }
  EXPECT_LT(smooth, 1.05 * single) << smooth / count << " against " << single / count;
  EXPECT_GT(static_cast<double>(covered) / count, 0.9);
}

// Estimates that are better than their number of forwards suggests must not be smoothed away.
TEST(Curve, ExactEstimatesStayExact) {
  Setting s = setting(test::linear_classifier(Tensor({2, 2}, {1, 2, 0, 0}), Tensor({2}, {0.5F, 0})), {{0.3F, 0.4F}});
  const std::vector<double> sigmas = {0.2, 0.5, 1, 2};
  const auto curve =
      estimate_curve(*s.executor, s.points, s.logits, isotropic_gaussian(), sigmas, parse_estimator("regression:40")).value();
  for (std::size_t k = 0; k < sigmas.size(); ++k)
    EXPECT_NEAR(curve[k][0].p, estimates(s, sigmas[k], "taylor")[0].p, 2e-3) << sigmas[k];
}

TEST(ScaleProcess, FollowsCertainValuesAndSmoothsUncertainOnes) {
  const std::vector<double> sigmas = {0.1, 0.2, 0.4, 0.8, 1.6};
  const ScaleProcess process(sigmas);
  Eigen::MatrixXd values(5, 2);
  values << 1, 0, 1.4, 0.1, 1.5, -0.1, 1.4, 0.1, 1, -0.1;
  const auto exact = process.smooth(values, Eigen::VectorXd::Constant(5, 1e-10), 0.3);
  EXPECT_LT((exact.mean - values).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_LT(exact.variance.maxCoeff(), 1e-9);
  const auto rough = process.smooth(values.col(1), Eigen::VectorXd::Constant(5, 0.04), 1);
  EXPECT_LT(rough.mean.norm(), 0.7 * values.col(1).norm());
  EXPECT_LT(rough.variance.maxCoeff(), 0.04);
  EXPECT_GT(rough.variance[0], rough.variance[2]);  // more uncertain at the ends
  const Eigen::VectorXd straight = 3 + 2 * process.t().array();
  EXPECT_LT((process.line(straight) - straight).norm(), 1e-9);
}

// ---- boundaries

TEST(Boundary, IsExactForLinearClassifiers) {
  Setting s = setting(test::linear_classifier(Tensor({3, 2}, {1, 0, -1, 1, 0, -2}), Tensor({3}, {0.2F, 0, -0.1F})),
                      {{0.4F, 0.1F}, {-0.7F, 0.5F}, {0.1F, -0.9F}});
  const auto nearest = nearest_boundary(*s.executor, s.points).value();
  const auto search = nearest_boundary_black_box(*s.executor, s.points).value();
  const double W[3][2] = {{1, 0}, {-1, 1}, {0, -2}};
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::int64_t t = s.points.target[i];
    double least = 1e9;
    for (std::int64_t c = 0; c < 3; ++c) {
      if (c == t) continue;
      least = std::min(least, (s.logits.row(i)[t] - s.logits.row(i)[c]) / std::hypot(W[t][0] - W[c][0], W[t][1] - W[c][1]));
    }
    EXPECT_NEAR(nearest[i].distance, least, 1e-5);
    EXPECT_NE(nearest[i].rival, t);
    EXPECT_NEAR(std::hypot(nearest[i].step[0], nearest[i].step[1]), nearest[i].distance, 1e-5);
    EXPECT_NEAR(search[i].distance, least, 1e-3 * least);
    EXPECT_GT(nearest[i].backwards, 0);
  }
}

// The gradient at a point leads to a farther part of a curved boundary. In the plane, all directions are searched, too.
TEST(Boundary, IsNearestOnACurvedBoundary) {
  std::mt19937 random(5);
  for (const std::int64_t d : {2, 40}) {
    Tensor half_axes({d});
    for (std::int64_t k = 0; k < d; ++k) half_axes.data[k] = 1 + static_cast<float>(k) / static_cast<float>(d - 1);
    std::vector<std::vector<float>> inside;
    for (int i = 0; i < 20; ++i) {
      const Tensor direction = test::random_tensor({1, d}, random);
      double length = 0;
      for (std::int64_t k = 0; k < d; ++k) length += std::pow(direction.data[k] / half_axes.data[k], 2);
      inside.emplace_back();
      for (const float x : direction.data) inside.back().push_back(0.7F * x / static_cast<float>(std::sqrt(length)));
    }
    Setting s = setting(test::ellipsoid(half_axes), inside);
    const auto nearest = nearest_boundary(*s.executor, s.points).value();
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const double truth = test::ellipsoid_distance(half_axes.data, inside[i]);
      EXPECT_NEAR(nearest[i].distance, truth, 0.005 * truth) << d << ' ' << i;
    }
  }
}

// In the plane: the boundary is near on the left, but the margin is flat there; the gradient leads to the right.
TEST(Boundary, SearchesAllDirectionsOfThePlane) {
  Graph g;
  const ValueId x = append_input(g, {2}, Extent::example, "x");
  const ValueId right =
      build::subtract(g, append_constant(g, Tensor({1}, {1})), append(g, Op::slice, {x}, SliceAttributes{{0}, {1}, {1}}));
  const ValueId left =
      build::add(g, append_constant(g, Tensor({1}, {0.5F})), append(g, Op::slice, {x}, SliceAttributes{{0}, {1}, {1}}));
  const ValueId steep = build::multiply(g, left, append_constant(g, Tensor({1}, {10})));
  g.outputs = {test::two_logits(g, append(g, Op::minimum, {right, steep}))};
  Setting s = setting(g, {{0, 0}});
  EXPECT_NEAR(nearest_boundary(*s.executor, s.points).value()[0].distance, 0.5, 1e-4);
}

TEST(Boundary, BlackBoxFindsTheRightAngle) {
  Setting s = setting(test::right_angle(0.5F, -0.2F), {{0.9F, 0.1F}, {0.1F, 0.3F}, {0.2F, -0.9F}, {2.0F, -0.3F}});
  const auto nearest = nearest_boundary_black_box(*s.executor, s.points).value();
  for (std::int64_t i = 0; i < s.points.size(); ++i) {
    const double truth = test::right_angle_distance(s.points.x.row(i)[0] - 0.5, s.points.x.row(i)[1] + 0.2);
    EXPECT_NEAR(nearest[i].distance, truth, 0.01 * truth) << i;
    EXPECT_GE(nearest[i].distance, truth - 1e-5);
  }
}

TEST(Boundary, ReportsNoBoundaryWithinReachAndNan) {
  Setting s = setting(test::ball(2, 100), {{0, 0}});
  EXPECT_TRUE(std::isinf(nearest_boundary_black_box(*s.executor, s.points).value()[0].distance));
  Setting nan = setting(test::ball(2, 1), {{std::numeric_limits<float>::quiet_NaN(), 0}});
  nan.points.target[0] = 0;
  EXPECT_TRUE(std::isnan(nearest_boundary(*nan.executor, nan.points).value()[0].distance));
  EXPECT_TRUE(std::isnan(nearest_boundary_black_box(*nan.executor, nan.points).value()[0].distance));
  // A tie far from zero, where the spacing of float32 numbers is large.
  Setting far = setting(test::linear_classifier(Tensor({2, 1}, {1, 0}), Tensor({2}, {-10000, 0})), {{10000}});
  EXPECT_LT(nearest_boundary(*far.executor, far.points).value()[0].distance, 0.02);
  EXPECT_FALSE(nearest_boundary_black_box(*far.executor, far.points, {.reach = std::numeric_limits<double>::infinity()}));
}

// ---- curvature

TEST(CurvatureTest, LinearIsFlatAndAQuadraticIsKnown) {
  Setting flat =
      setting(test::linear_classifier(Tensor({3, 2}, {1, 0, -1, 1, 0, -2}), Tensor({3}, {0.2F, 0, -0.1F})), {{0.4F, 0.1F}});
  const Curvature none = curvature(*flat.executor, flat.points, {isotropic_gaussian(), 0.3}, 200).value()[0];
  EXPECT_LT(none.largest_shift, 1e-5);
  EXPECT_LT(none.largest_scatter, 1e-5);
  // g = r² - |x + eps|²: odd part -2 x.eps, even part -|eps|².
  Setting round = setting(test::ball(3, 2), {{0.6F, 0.8F, 0}});
  const Curvature bent = curvature(*round.executor, round.points, {isotropic_gaussian(), 0.3}, 20000).value()[0];
  EXPECT_NEAR(bent.shift[0], -3 * 0.09 / (2 * 0.3), 0.02);
  EXPECT_NEAR(bent.scatter[0], std::sqrt(6.0) * 0.09 / (2 * 0.3), 0.02);
}

TEST(CurvatureTest, QuadraticBoundsWhereTheyAreDefined) {
  // Outside the ball: g = |x|² - r², A = I, u = 2x.
  Setting outside = setting(test::ball(3, 0.5F), {{0.6F, 0.8F, 0}});
  const QuadraticBound bound = quadratic_bounds(*outside.executor, outside.points, 0.1).value()[0];
  EXPECT_TRUE(bound.defined);
  EXPECT_NEAR(bound.lambda_max[0], 1, 1e-3);
  EXPECT_NEAR(bound.lambda_mean[0], 1, 1e-3);
  EXPECT_NEAR(bound.gradient_norm[0], 2, 1e-4);
  EXPECT_NEAR(bound.taylor, 0.1 * std::sqrt(3.0) / 2, 1e-3);
  EXPECT_NEAR(bound.mmse, 0, 1e-3);
  Setting flat = setting(test::linear_classifier(Tensor({2, 2}, {1, 2, 0, 0}), Tensor({2}, {0.5F, 0})), {{0.3F, 0.4F}});
  EXPECT_FALSE(quadratic_bounds(*flat.executor, flat.points, 0.1).value()[0].defined);
}

// ---- slices

TEST(CloudTest, HasTheSamplesThatAreCounted) {
  std::mt19937 random(6);
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  const Points points{test::random_tensor({1, 1, 8, 8}, random), {7}, {2}, 5};
  for (const char* text : {"gaussian:0.4", "uniform:1", "gaussian:0.4@3,5..9+laplace:0.5@40"}) {
    const Noise noise = parse_noise(text);
    const Cloud cloud = noisy_cloud(*executor, points, noise, 600).value();
    EXPECT_EQ(cloud.x.shape, Shape({600, 1, 8, 8}));
    std::vector<std::int64_t> counts(4, 0);
    for (const std::int64_t winner : cloud.predicted) ++counts[winner];
    EXPECT_EQ(counts, executor->sample(points, noise, 600).value()[0]) << text;
    const Tensor logits = executor->logits(rows(cloud.x, 123, 1)).value();
    EXPECT_EQ(argmax(logits.row(0)), cloud.predicted[123]);
    for (std::int64_t j = 0; j < 40; ++j)  // sample by sample
      EXPECT_EQ(executor->sample(points, noise, 1, j).value()[0][cloud.predicted[j]], 1) << text;
  }
}

TEST(CloudTest, RejectsZeroAndTooManySamples) {
  const auto executor = make_executor("cpu", test::small_cnn(), {}).value();
  const Points one{Tensor({1, 1, 8, 8}), {0}, {0}, 0}, two{Tensor({2, 1, 8, 8}), {0, 1}, {0, 0}, 0};
  const Noise noise = parse_noise("gaussian:0.1");
  EXPECT_EQ(noisy_cloud(*executor, one, noise, 0).error().code, ErrorCode::usage);
  EXPECT_EQ(noisy_cloud(*executor, two, noise, 5).error().code, ErrorCode::usage);
  EXPECT_EQ(noisy_cloud(*executor, one, noise, std::int64_t{1} << 50).error().code, ErrorCode::resources);
}

TEST(SliceTest, ShowsTheRegionsOfALinearClassifier) {
  Setting s = setting(test::linear_classifier(Tensor({2, 3}, {1, 2, 2, 0, 0, 0}), Tensor({2}, {0, 0})), {{0.3F, 0.3F, 0.3F}});
  const SlicePlane plane = margin_plane(*s.executor, s.points, 0, 1.0, 41).value();
  EXPECT_NEAR(std::abs(plane.u[0] / plane.u[1]), 0.5, 1e-6);  // along the margin's gradient
  const Slice slice = decision_slice(*s.executor, s.points, 0, plane).value();
  EXPECT_EQ(slice.predicted[20 * 41 + 20], 0);
  EXPECT_NEAR(slice.margin[20 * 41 + 20], 1.5, 1e-6);
  for (std::int64_t row = 0; row < 41; ++row) {  // the boundary is at s = -0.5, for every t
    EXPECT_EQ(slice.predicted[row * 41 + 9], 1);
    EXPECT_EQ(slice.predicted[row * 41 + 11], 0);
  }
  EXPECT_FALSE(decision_slice(*s.executor, s.points, 0, {{1, 0}, {0, 1}, 1, 8}));
  EXPECT_FALSE(decision_slice(*s.executor, s.points, 0, {plane.u, plane.v, 1, 100000}));
  EXPECT_THROW(orthonormal({{1, 0, 0}, {2, 0, 0}, 1, 8}), Error);
}

}  // namespace
}  // namespace probust
