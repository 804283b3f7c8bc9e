// SPDX-License-Identifier: MIT
// Pooling across points: similar covariances are shared; otherwise each point keeps its own.
#include "probust/estimators/statistics/pooling.h"

#include <gtest/gtest.h>

#include <random>

#include "support/evaluate.h"
#include "support/networks.h"

namespace probust {
namespace {

constexpr std::int64_t kPairs = 12, kPooledClasses = 5;

/// A sample covariance of margins from 2 kPairs - 1 draws of N(0, root rootᵀ), the degrees of freedom of kPairs pairs.
Eigen::MatrixXd sampled(const Eigen::MatrixXd& root, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Eigen::MatrixXd draws(root.cols(), 2 * kPairs - 1);
  for (double& draw : draws.reshaped()) draw = normal(random);
  return root * draws * draws.transpose() * root.transpose() / static_cast<double>(draws.cols());
}

Eigen::MatrixXd random_root(std::mt19937& random) {
  std::normal_distribution<double> normal;
  Eigen::MatrixXd root(kPooledClasses - 1, kPooledClasses - 1);
  for (double& entry : root.reshaped()) entry = normal(random);
  return root;
}

struct Block {
  std::vector<Eigen::MatrixXd> own;
  std::vector<std::int64_t> targets;
  Tensor logits;
};

/// n points, all of class 0, whose logits point along the first axis or, with `two`, at every second point along the last.
Block block(std::int64_t n, std::mt19937& random, const std::function<Eigen::MatrixXd(std::int64_t)>& root, bool two = false) {
  Block result{{}, std::vector<std::int64_t>(static_cast<std::size_t>(n), 0), Tensor({n, kPooledClasses})};
  for (std::int64_t i = 0; i < n; ++i) {
    result.own.push_back(sampled(root(i), random));
    result.logits.row(i)[two && i % 2 == 1 ? kPooledClasses - 1 : 0] = 1;
  }
  return result;
}

std::vector<CovarianceModel> pooled(const Block& block) {
  return pooled_covariances(block.own, block.targets, block.logits, kPairs);
}

TEST(Pooling, SharesOnlyBetweenSimilarPoints) {
  std::mt19937 random(3);
  const Eigen::MatrixXd one = random_root(random);
  const auto alike = pooled(block(40, random, [&](std::int64_t) { return one; }));
  EXPECT_LT(alike[0].weight, 0.25);
  const Eigen::MatrixXd truth = one * one.transpose();
  EXPECT_LT((alike[0].known / (1 - alike[0].weight) - truth).norm(), 0.6 * truth.norm());
  const auto unlike = pooled(block(40, random, [&](std::int64_t) { return random_root(random); }));
  EXPECT_GT(unlike[0].weight, 0.7);
}

TEST(Pooling, SharesBetweenPointsOfSimilarLogits) {
  std::mt19937 random(5);
  const Eigen::MatrixXd even = random_root(random), odd = random_root(random);
  const auto of_two = [&](std::int64_t i) { return i % 2 == 0 ? even : odd; };
  const auto models = pooled(block(60, random, of_two, true));
  const auto distance = [](const CovarianceModel& model, const Eigen::MatrixXd& root) {
    const Eigen::MatrixXd a = model.known / model.known.trace(), b = root * root.transpose();
    return (a - b / b.trace()).norm();
  };
  EXPECT_LT(distance(models[0], even), 0.3 * distance(models[0], odd));
  EXPECT_LT(distance(models[1], odd), 0.3 * distance(models[1], even));
}

TEST(Pooling, PointsWithoutNeighboursKeepTheirOwnCovariance) {
  std::mt19937 random(7);
  const Eigen::MatrixXd one = random_root(random);
  Block alone = block(1, random, [&](std::int64_t) { return one; });
  EXPECT_EQ(pooled(alone)[0].weight, 1);
  Block broken = block(3, random, [&](std::int64_t) { return one; });
  broken.own[1].setConstant(NAN);
  const auto models = pooled(broken);
  EXPECT_EQ(models[1].weight, 1);
  EXPECT_LT(models[0].weight, 1);
  EXPECT_TRUE(models[0].known.allFinite() && models[2].known.allFinite());
  Block flat =
      block(3, random, [&](std::int64_t) { return Eigen::MatrixXd::Zero(kPooledClasses - 1, kPooledClasses - 1).eval(); });
  EXPECT_EQ(pooled(flat)[0].weight, 1);  // zero covariances: there is nothing to pool
}

// A broken point has no influence, wherever it is.
TEST(Pooling, ABrokenPointDoesNotAffectItsNeighbours) {
  std::mt19937 random(9);
  const Graph graph = test::linear_classifier(test::random_tensor({4, 6}, random), test::random_tensor({4}, random));
  const auto executor = make_executor("cpu", graph, {}).value();
  for (const char* text : {"probit:24:pooled", "regression:40:pooled", "auto:60"}) {
    for (const std::int64_t broken : {0, 2}) {
      Points points{test::random_tensor({5, 6}, random), {0, 1, 2, 3, 4}, {}, 1};
      points.x.row(broken)[3] = NAN;
      const Tensor logits = executor->logits(points.x).value();
      for (std::int64_t i = 0; i < 5; ++i) points.target.push_back(std::max<std::int64_t>(0, argmax(logits.row(i))));
      Evaluation evaluation(*executor, points, logits);
      const auto taken = estimate(evaluation, {isotropic_gaussian(), 1.0}, parse_estimator(text)).value();
      const auto truth = estimate(evaluation, {isotropic_gaussian(), 1.0}, parse_estimator("taylor")).value();
      for (std::int64_t i = 0; i < 5; ++i) {
        if (i == broken) {
          EXPECT_EQ(taken[i].status, Status::nonfinite) << text;
        } else {
          EXPECT_NEAR(taken[i].p, truth[i].p, 0.25) << text << ' ' << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace probust
