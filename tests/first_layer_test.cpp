// SPDX-License-Identifier: MIT
// Averages of gradients that are multiplied by the first layer's weights only once, rather than for every sample.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "probust/analysis/geometry/jacobian.h"
#include "probust/passes/first_layer_split.h"
#include "probust/perturb/noise_text.h"
#include "support/first_layers.h"

namespace probust {
namespace {

using test::forked, test::kClasses, test::perceptron, test::strided;

Points some_points(const Graph& graph) {
  std::mt19937 random(6);
  Shape shape = graph[graph.inputs()[0]].shape;
  shape[0] = 3;
  return {test::random_tensor(shape, random), {4, 9, 2}, {2, 0, 4}, 7};
}

TEST(FirstLayer, SplitsAnAffineAndNarrowLayer) {
  const auto outputs = [](const Graph& graph) {
    const auto first = split_first_layer(graph);
    return first ? first->outputs : 0;
  };
  EXPECT_EQ(outputs(perceptron({20, 30})), 20);
  EXPECT_EQ(outputs(perceptron({21, 8})), 0);
  EXPECT_EQ(outputs(perceptron({})), kClasses);
  EXPECT_EQ(outputs(perceptron({30, 12}, Op::negate)), kClasses);  // affine up to the logits
  EXPECT_EQ(outputs(strided(2)), 16);
  EXPECT_EQ(outputs(strided(3)), 0);
  EXPECT_EQ(outputs(forked()), 0);
}

// linearize_averaged by its specification, sample by sample.
Linearization defined(Executor& executor, const Points& points, std::int64_t i, const Noise& noise, std::int64_t samples) {
  const Tensor x = rows(points.x, i, 1);
  const auto point = static_cast<std::uint32_t>(points.index[i]);
  std::vector<Eigen::MatrixXd> gradients;
  Eigen::MatrixXd moves(x.size(), samples);
  for (std::int64_t j = 0; j < samples; ++j) {
    const auto sample = static_cast<std::uint32_t>(j);
    Points copy{x, {points.index[i]}, {points.target[i]}, points.seed};
    noise.shape->add({points.seed, {&point, 1}, {&sample, 1}}, x.size(), static_cast<float>(noise.scale), copy.x.data.data());
    for (std::int64_t e = 0; e < x.size(); ++e) moves(e, j) = double{copy.x.data[e]} - double{x.data[e]};
    gradients.emplace_back(margin_gradients(executor, copy, 0, noise, 0).cast<double>());
  }
  Linearization result;
  LogitJacobian mean = margin_gradients(executor, points, i, noise, samples);
  result.along_mean = mean.cast<double>() * moves;
  result.along_own.resize(kClasses - 1, samples);
  for (std::int64_t j = 0; j < samples; ++j) result.along_own.col(j) = gradients[j] * moves.col(j);
  for (Eigen::Index row = 0; row < mean.rows(); ++row) noise.shape->whiten({&point, 1}, x.size(), mean.row(row).data());
  result.gram = mean.cast<double>() * mean.cast<double>().transpose();
  return result;
}

TEST(FirstLayer, AveragesThroughItAreTheMeansOfTheSamples) {
  for (const Graph& graph : {perceptron({20, 30}), perceptron({21, 8}), perceptron({}), strided(2)}) {
    const Points points = some_points(graph);
    for (const char* text : {"gaussian:0.2", "gaussian:0.1@0..19+gaussian:0.4@20..39"}) {
      const Noise noise = parse_noise(text);
      for (const std::string_view backend : {"cpu", "eigen", "reference"}) {
        SCOPED_TRACE(std::string(backend) + ", " + text);
        const auto executor = make_executor(backend, graph, {.verify = true}).value();
        const auto averaged = executor->linearize_averaged(points, noise, 6).value();
        for (std::int64_t i = 0; i < points.size(); ++i) {
          const Linearization expected = defined(*executor, points, i, noise, 6);
          EXPECT_LT((averaged[i].gram - expected.gram).norm(), 1e-6 * expected.gram.norm());
          EXPECT_LT((averaged[i].along_mean - expected.along_mean).norm(), 1e-6 * expected.along_mean.norm());
          EXPECT_LT((averaged[i].along_own - expected.along_own).norm(), 1e-6 * expected.along_own.norm());
        }
      }
    }
  }
}

// Tests different batches of samples, groups of seeds, and numbers of threads.
TEST(FirstLayer, AveragesThroughItDoNotDependOnTheBatch) {
  const Graph graph = perceptron({20, 30});
  const Points points = some_points(graph);
  const Noise noise = parse_noise("gaussian:0.2");
  const auto expected = make_executor("cpu", graph, {}).value()->linearize_averaged(points, noise, 9).value();
  for (const ExecutorOptions& options : {ExecutorOptions{.batch = 1, .verify = true}, ExecutorOptions{.batch = 4, .verify = true},
                                         ExecutorOptions{.threads = 2, .batch = 16}, ExecutorOptions{.memory = 4400}}) {
    const auto executor = make_executor("cpu", graph, options).value();
    const auto actual = executor->linearize_averaged(points, noise, 9).value();
    if (options.memory == 4400) {
      EXPECT_LT(executor->gradient_batch().seeds, kClasses - 1);
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(actual[i].gram, expected[i].gram);
      EXPECT_EQ(actual[i].sampled, expected[i].sampled);
      EXPECT_EQ(actual[i].along_own, expected[i].along_own);
      EXPECT_EQ(actual[i].along_mean, expected[i].along_mean);
    }
  }
}

}  // namespace
}  // namespace probust
