// SPDX-License-Identifier: MIT
// Compares normal probabilities computed on a device with those of the host. Like cuda_test.cpp, this is linked with the
// emulated device or a GPU.
#include <gtest/gtest.h>

#include <cmath>

#include "cuda/cuda_executor.h"
#include "cuda/normal.h"
#include "normal_problems.h"
#include "probust/estimators/estimator.h"
#include "probust/perturb/noise_text.h"
#include "support/networks.h"

namespace probust::cuda {
namespace {

constexpr std::int64_t kBytes = std::int64_t{64} << 20;

Device& device() {
  static Device& one = *new Device(0, Precision::float32);
  return one;
}

// Problems like those of a classifier, of several sizes: rows of U are differences of random class vectors.
std::vector<test::Owned> classifier_problems(std::vector<Eigen::Index> sizes, double level) {
  test::Normals normal(11);
  std::vector<test::Owned> all;
  for (const Eigen::Index m : sizes) {
    Eigen::MatrixXd classes(m + 1, 3 * m);
    for (double& each : classes.reshaped()) each = normal();
    Eigen::MatrixXd U = (-classes.bottomRows(m)).rowwise() + classes.row(0);
    U.rowwise().normalize();
    std::vector<double> z(static_cast<std::size_t>(m));
    for (double& limit : z) limit = level + std::abs(normal());
    all.push_back({z, U * U.transpose(), false});
  }
  return all;
}

constexpr normal::Options kCoarse{.abs = 1e-3, .rel_q = 5e-2};  // the emulated device is slow

std::vector<normal::Probability> on_the_host(std::span<const normal::Problem> problems) {
  std::vector<normal::Probability> answers(problems.size());
  normal::BatchSolver(1).solve(problems, answers, kCoarse);
  return answers;
}

std::vector<normal::Probability> there_of(std::span<const normal::Problem> problems, std::int64_t bytes = kBytes) {
  return normal_probabilities(device(), problems, 1, bytes, kCoarse);
}

TEST(CudaNormal, AgreesWithTheHostWithinBothErrors) {
  for (const double level : {0.3, 1.5}) {
    const auto owned = classifier_problems({40, 24, 33, 60, 23}, level);
    const auto problems = test::views(owned);
    const auto here = on_the_host(problems), there = there_of(problems);
    ASSERT_EQ(there.size(), here.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_EQ(there[i].status, normal::Status::ok);
      EXPECT_LE(std::abs(there[i].p - here[i].p), here[i].error + there[i].error) << i;
      EXPECT_LE(std::abs(there[i].p_fail - here[i].p_fail), here[i].error_fail + there[i].error_fail) << i;
      EXPECT_LE(there[i].error, kCoarse.abs);
      EXPECT_NEAR(there[i].p + there[i].p_fail, 1, 1e-12);
    }
    for (const std::size_t i : {0, 1, 2, 3}) EXPECT_EQ(there[i].method, "separation") << "the device did not solve " << i;
    EXPECT_EQ(there[4].p, here[4].p) << "a small problem is the host's";
  }
}

TEST(CudaNormal, AnswersDoNotDependOnWhatIsSolvedTogether) {
  const auto owned = classifier_problems({40, 24, 33}, 1.0);
  const auto problems = test::views(owned);
  const auto together = there_of(problems);
  const auto in_little_memory = there_of(problems, 4 << 20);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const auto alone = there_of(std::span(problems).subspan(i, 1));
    for (const auto& one : {alone[0], in_little_memory[i]}) {
      EXPECT_EQ(one.method, "separation");
      EXPECT_NEAR(one.p, together[i].p, 1e-13);
      EXPECT_NEAR(one.p_fail, together[i].p_fail, 1e-13);
    }
  }
}

TEST(CudaNormal, WhatItCannotSolveIsTheHosts) {
  std::vector<test::Owned> owned = classifier_problems({30, 30, 30, 30, 30, 30}, 1.0);
  owned[0].z[3] = std::nan("");
  owned[1].matrix(2, 3) = 0.5;                      // asymmetric
  owned[2].matrix.row(4) = owned[2].matrix.row(7);  // singular
  owned[2].matrix.col(4) = owned[2].matrix.col(7);
  owned[2].matrix(4, 4) = 1;
  for (double& limit : owned[3].z) limit += 7;  // rare
  owned[4].z[0] = -std::numeric_limits<double>::infinity();
  owned[5].z[0] = std::numeric_limits<double>::infinity();
  const auto problems = test::views(owned);
  const auto here = on_the_host(problems), there = there_of(problems);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(there[i].status, here[i].status) << i;
    EXPECT_TRUE(there[i].p_fail == here[i].p_fail || std::isnan(here[i].p_fail)) << i;
  }
  EXPECT_EQ(there[0].status, normal::Status::nonfinite);
  EXPECT_EQ(there[1].status, normal::Status::asymmetric);
  EXPECT_LE(std::abs(there[5].p - here[5].p), here[5].error + there[5].error);
  const auto without_memory = there_of(problems, 0);
  EXPECT_EQ(without_memory[5].p, here[5].p);
}

TEST(CudaNormal, EstimatesOfManyClassesAgree) {
  std::mt19937 random(3);
  const Graph graph =
      test::linear_classifier(test::random_tensor({40, 64}, random), test::random_tensor({40}, random, -0.1F, 0.1F));
  auto host = make_executor("cpu", graph, {}).value();
  auto there = make_cuda_executor(graph, {}, {}).value();
  Points points{test::random_tensor({3, 64}, random), {0, 1, 2}, {0, 0, 0}, 5};
  const Tensor logits = host->logits(points.x).value();
  for (std::int64_t i = 0; i < 3; ++i) points.target[i] = argmax(logits.row(i));
  Evaluation here(*host, points, logits), other(*there, points, logits);
  const Noise noise = parse_noise("gaussian:0.2");
  const auto expected = estimate(here, noise, parse_estimator("taylor")).value();
  const auto found = estimate(other, noise, parse_estimator("taylor")).value();
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i].p, expected[i].p, 2e-4) << i;
}

}  // namespace
}  // namespace probust::cuda
