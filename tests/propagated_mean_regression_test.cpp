// SPDX-License-Identifier: MIT
// Shifts of the mean under noise: propagated moments of executors, and the regression of sampled shifts on them.
#include "probust/estimators/statistics/propagated_mean_regression.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>
#include <random>

#include "probust/estimators/block_model.h"
#include "support/evaluate.h"
#include "support/networks.h"
#include "support/normals.h"

namespace probust {
namespace {

using test::normals;

constexpr Eigen::Index kShifts = 100, kOfEach = 3;

// The errors of different points have a common part.
Eigen::MatrixXd error_covariance() {
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Constant(kShifts, kShifts, 0.2);
  covariance.diagonal() = Eigen::VectorXd::LinSpaced(kShifts, 0.5, 2);
  return covariance;
}

const Eigen::MatrixXd kNone = Eigen::MatrixXd::Identity(kShifts, kShifts);  // points are not similar

struct Compared {
  double before = 0, after = 0, stated = 0;  // sums of squared errors
};

// Compares shifts that are linear in the predictors, plus a part of size `own` for each point.
Compared compare(double own, int trials) {
  std::mt19937 random(1);
  const Eigen::MatrixXd covariance = error_covariance(), root = covariance.llt().matrixL();
  const Eigen::VectorXd share = Eigen::Vector3d(0.5, 1, 1.5);
  Compared compared;
  for (int trial = 0; trial < trials; ++trial) {
    Eigen::MatrixXd predictors(kShifts, 5);
    predictors << Eigen::VectorXd::Ones(kShifts), normals(kShifts, 4, random);
    const Eigen::MatrixXd truth = predictors * normals(5, kOfEach, random) + own * normals(kShifts, kOfEach, random);
    const Eigen::MatrixXd errors = root * normals(kShifts, kOfEach, random) * share.cwiseSqrt().asDiagonal();
    const Eigen::MatrixXd none = Eigen::MatrixXd::Zero(kShifts, kOfEach);
    const CommonErrors left = regressed({none, covariance}, truth + errors, predictors, share, kNone);
    compared.before += errors.squaredNorm();
    compared.after += (errors + left.correction).squaredNorm();
    compared.stated += kOfEach * left.covariance.trace();
  }
  return compared;
}

TEST(MeanShifts, PredictorsMakeErrorsSmallerAndTheirSizeIsKnown) {
  const Compared compared = compare(0.3, 40);
  EXPECT_LT(compared.after, 0.3 * compared.before);  // the common part, 0.16, remains
  EXPECT_NEAR(compared.stated / compared.after, 1, 0.15);
}

TEST(MeanShifts, SamplesAreUsedIfPredictorsExplainLittle) {
  const Compared compared = compare(20, 40);
  EXPECT_LT(compared.after, 1.01 * compared.before);
  EXPECT_NEAR(compared.stated / compared.after, 1, 0.15);
}

TEST(MeanShifts, NothingChangesWithoutErrorsOrFinitePredictors) {
  std::mt19937 random(2);
  const CommonErrors errors{normals(kShifts, kOfEach, random), error_covariance()};
  const Eigen::MatrixXd sampled = normals(kShifts, kOfEach, random);
  const Eigen::VectorXd share = Eigen::VectorXd::Ones(kOfEach);
  Eigen::MatrixXd predictors = Eigen::MatrixXd::Ones(kShifts, 2);
  const CommonErrors none{errors.correction, Eigen::MatrixXd::Zero(kShifts, kShifts)};
  EXPECT_EQ(regressed(none, sampled, predictors, share, kNone).correction, errors.correction);
  // Equal predictors count as a single one.
  const Eigen::MatrixXd one = predictors.leftCols(1);
  EXPECT_LT(
      (regressed(errors, sampled, predictors, share, kNone).correction - regressed(errors, sampled, one, share, kNone).correction)
          .norm(),
      1e-9);
  predictors(7, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(regressed(errors, sampled, predictors, share, kNone).correction, errors.correction);
}

// Sizes of covariances that vary from point to point. They are related only to the propagated variances, all of which are too
// small.
TEST(MeanShifts, PropagatedVariancesPredictSizes) {
  std::mt19937 random(6);
  constexpr std::int64_t kRivals = 3, kPairs = 8;
  const Eigen::VectorXd log_sizes = 0.6 * normals(kShifts, 1, random);
  std::vector<Pairs> sampled;
  std::vector<LogitMoments> moments;
  for (const double log_size : log_sizes) {
    const Eigen::MatrixXd odd = std::exp(log_size / 2) * normals(kRivals, kPairs, random);
    const Eigen::MatrixXd even = 0.3 * std::exp(log_size / 2) * normals(kRivals, kPairs, random);
    sampled.push_back({(even + odd).array() + 1, (even - odd).array() + 1});
    moments.push_back({Eigen::VectorXd::Zero(kRivals + 1), Eigen::VectorXd::Constant(kRivals + 1, 0.2 * std::exp(log_size))});
  }
  const std::vector<std::int64_t> targets(sampled.size(), 0);
  const Tensor x = test::random_tensor({kShifts, 5}, random), logits = test::random_tensor({kShifts, kRivals + 1}, random);
  const auto error = [&](const Propagated& propagated) {
    const BlockModel model(sampled, targets, x, logits, {}, propagated);
    Eigen::ArrayXd difference(kShifts);
    for (Eigen::Index i = 0; i < kShifts; ++i) difference[i] = std::log(model.moments(i).covariance.trace()) - log_sizes[i];
    return (difference - difference.mean()).matrix().norm();
  };
  EXPECT_LT(error(moments), 0.5 * error(std::nullopt));
}

Points some_points(std::int64_t count, Shape point) {
  std::mt19937 random(3);
  Points points;
  point.insert(point.begin(), count);
  points.x = test::random_tensor(point, random);
  for (std::int64_t i = 0; i < count; ++i) {
    points.index.push_back(i);
    points.target.push_back(i % 3);
  }
  return points;
}

// For any batch, with kernels and by definition; the mean's margins equal those of its linearization.
TEST(Moments, OfAnExecutorAreThoseOfTheGraph) {
  const Graph graph = test::small_cnn();
  const Points points = some_points(19, {1, 8, 8});
  const Noise noise{isotropic_gaussian(), 0.3};
  ExecutorOptions few;
  few.batch = 7;
  const auto cpu = make_executor("cpu", graph, few).value(), reference = make_executor("reference", graph, {}).value();
  const auto fast = cpu->moments(points, noise).value(), slow = reference->moments(points, noise).value();
  const auto smoothed = cpu->linearize_smoothed(points, noise).value();
  for (std::int64_t i = 0; i < points.size(); ++i) {
    EXPECT_LT((fast[i].mean - slow[i].mean).norm(), 1e-5) << i;
    EXPECT_LT((fast[i].variance - slow[i].variance).norm(), 1e-5) << i;
    EXPECT_GT(fast[i].variance.minCoeff(), 0) << i;
    for (std::int64_t row = 0; row < smoothed[i].rivals(); ++row) {
      const double margin = fast[i].mean[points.target[i]] - fast[i].mean[rival_of(row, points.target[i])];
      EXPECT_NEAR(margin, smoothed[i].margins[row], 1e-5) << i;
    }
  }
}

// The mean is W x + b, and the variances are sigma² times the sums of the squares of the rows of W.
TEST(Moments, OfALinearModelAreExact) {
  std::mt19937 random(4);
  const Tensor weights = test::random_tensor({3, 6}, random), bias = test::random_tensor({3}, random);
  const auto cpu = make_executor("cpu", test::linear_classifier(weights, bias), {}).value();
  const Points points = some_points(5, {6});
  const auto moments = cpu->moments(points, {isotropic_gaussian(), 0.5}).value();
  const Tensor logits = cpu->logits(points.x).value();
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t c = 0; c < 3; ++c) {
      double squares = 0;
      for (const float w : weights.row(c)) squares += 0.25 * w * w;
      EXPECT_NEAR(moments[i].mean[c], logits.row(i)[c], 1e-5);
      EXPECT_NEAR(moments[i].variance[c], squares, 1e-5);
    }
  }
}

TEST(Moments, AreRefusedIfNoiseDiffersOrThereIsNoGraph) {
  const auto cpu = make_executor("cpu", test::small_cnn(), {}).value();
  const NoiseArray deviations{{19, 64}, std::vector<double>(19 * 64, 0.4), "deviations"};
  const auto differing = cpu->moments(some_points(19, {1, 8, 8}), {diagonal_gaussian(deviations, "own"), 1});
  ASSERT_FALSE(differing);
  EXPECT_EQ(differing.error().code, ErrorCode::unsupported);
  const auto other = make_forward_executor("other", compile_cpu(test::small_cnn()), {1, 8, 8}, 4, {});
  const auto without = other->moments(some_points(19, {1, 8, 8}), {isotropic_gaussian(), 0.3});
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace probust
