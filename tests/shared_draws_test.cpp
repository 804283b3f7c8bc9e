// SPDX-License-Identifier: MIT
// Points that share draws of the noise: the product of the first layer and a draw is computed only once for all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "probust/exec/executor.h"
#include "probust/ops/append.h"
#include "probust/passes/affine_prefix.h"
#include "probust/perturb/noise_text.h"
#include "support/first_layers.h"

namespace probust {
namespace {

using test::dense, test::forked, test::kClasses, test::kInputs, test::perceptron, test::strided;

// A network that begins with `first`, followed by dense layers.
template <class First>
Graph beginning_with(First first) {
  std::mt19937 random(8);
  Graph g;
  const ValueId x = first(g, append_input(g, {1, kInputs}, Extent::example, "x"));
  const ValueId hidden = append(g, Op::relu, {dense(g, x, 12, random)});
  g.outputs = {append(g, Op::reshape, {dense(g, hidden, kClasses, random)}, ShapeAttribute{{kClasses}})};
  return g;
}

Graph rounded() {
  return beginning_with([](Graph& g, ValueId x) { return append(g, Op::round, {x}); });
}

// 1 / x is not affine, but x / 3 is.
Graph inverted() {
  return beginning_with([](Graph& g, ValueId x) { return append(g, Op::divide, {append_constant(g, Tensor({1}, {1.0F})), x}); });
}

Graph divided() {
  return beginning_with([](Graph& g, ValueId x) { return append(g, Op::divide, {x, append_constant(g, Tensor({1}, {3.0F}))}); });
}

Graph squared() {
  return beginning_with([](Graph& g, ValueId x) { return append(g, Op::multiply, {x, x}); });
}

Points many_points(const Graph& graph, std::int64_t n) {
  std::mt19937 random(9);
  Shape shape = graph[graph.inputs()[0]].shape;
  shape[0] = n;
  Points points{test::random_tensor(shape, random), std::vector<std::int64_t>(static_cast<std::size_t>(n)), {}, 5};
  std::iota(points.index.begin(), points.index.end(), 100);
  for (std::int64_t i = 0; i < n; ++i) points.target.push_back(i % kClasses);
  return points;
}

std::vector<std::vector<std::int64_t>> random_draws(std::int64_t n, std::int64_t pairs) {
  std::mt19937 random(10);
  std::vector<std::vector<std::int64_t>> draws(static_cast<std::size_t>(pairs));
  for (auto& of_pair : draws) {
    for (std::int64_t i = 0; i < n; ++i) of_pair.push_back(3 + static_cast<std::int64_t>(random() % 4));
  }
  return draws;
}

TEST(SharedDraws, TheStartIsSplitOffIfItIsAffineAndWorthIt) {
  const auto outputs = [](const Graph& graph) -> std::int64_t {
    const auto start = split_affine_prefix(graph);
    return start ? element_count(start->first[start->first.outputs[0]].shape) : 0;
  };
  EXPECT_EQ(outputs(perceptron({20, 30})), 20);
  EXPECT_EQ(outputs(perceptron({30, 12}, Op::negate)), 0);  // affine up to the end: nothing remains
  EXPECT_EQ(outputs(strided(2)), 16);                       // fewer values than the input has
  EXPECT_EQ(outputs(strided(6)), 0);                        // more values, with 6 products each
  EXPECT_EQ(outputs(forked()), 0);
  EXPECT_EQ(outputs(divided()), 12);
  EXPECT_EQ(outputs(rounded()), 0);
  EXPECT_EQ(outputs(inverted()), 0);
  EXPECT_EQ(outputs(squared()), 0);
}

// A pair of noisy samples of a point equals the pair that the position in its key would have.
TEST(SharedDraws, AreThoseOfTheirKeys) {
  constexpr std::int64_t n = 37, count = 5, first = 2;
  for (const Graph& graph : {perceptron({20, 30}), divided(), strided(6), forked(), rounded()}) {
    Points points = many_points(graph, n);
    points.draws = random_draws(n, first + count);
    const Noise cut{clipped(uniform_noise(), {-0.5, 0.5}), 0.3};
    for (const Noise& noise : {parse_noise("gaussian:0.2"), parse_noise("gaussian:0.1@0..19+laplace:0.4@20..39"), cut}) {
      for (const std::string_view backend : {"cpu", "eigen", "reference"}) {
        SCOPED_TRACE(std::string(backend) + ", " + noise.text());
        const auto executor = make_executor(backend, graph, {.verify = true}).value();
        const auto shared = executor->pairs(points, noise, count, first).value();
        for (std::int64_t i = 0; i < n; ++i) {
          for (std::int64_t k = 0; k < count; ++k) {
            Points alone = slice(points, i, 1);
            alone.index[0] = points.draws[first + k][i];
            alone.draws.clear();
            const Pairs own = executor->pairs(alone, noise, 1, first + k).value()[0];
            EXPECT_LT((shared[i].plus.col(k) - own.plus).norm(), 2e-6 * own.plus.norm());
            EXPECT_LT((shared[i].minus.col(k) - own.minus).norm(), 2e-6 * own.minus.norm());
          }
        }
      }
    }
  }
}

TEST(SharedDraws, DoNotDependOnThreadsMemoryAndBatch) {
  const Graph graph = perceptron({20, 30});
  Points points = many_points(graph, 70);
  points.draws = random_draws(70, 3);
  const Noise noise = parse_noise("gaussian:0.2");
  const auto expected = make_executor("cpu", graph, {}).value()->pairs(points, noise, 3).value();
  for (const ExecutorOptions& options : {ExecutorOptions{.threads = 2}, ExecutorOptions{.batch = 3, .verify = true},
                                         ExecutorOptions{.memory = 16000}, ExecutorOptions{.threads = 3, .memory = 40000}}) {
    const auto executor = make_executor("cpu", graph, options).value();
    const auto actual = executor->pairs(points, noise, 3).value();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(actual[i].plus, expected[i].plus);
      EXPECT_EQ(actual[i].minus, expected[i].minus);
    }
  }
}

// Projections of shared draws use the draws of their keys, whether these are drawn once for all points or for each point.
TEST(SharedDraws, AreProjectedByTheirKeys) {
  constexpr std::int64_t n = 21, count = 6;
  const Graph graph = perceptron({20, 30});
  Points points = many_points(graph, n);
  points.draws = random_draws(n, count);
  std::vector<std::vector<std::int64_t>> rivals;
  for (std::int64_t i = 0; i < n; ++i) rivals.push_back({(points.target[i] + 1) % kClasses, (points.target[i] + 3) % kClasses});
  const Noise cut{clipped(uniform_noise(), {-0.5, 0.5}), 0.3};  // not additive
  for (const Noise& noise : {parse_noise("gaussian:0.2"), cut}) {
    for (const LinearizeAt around : {LinearizeAt::input, LinearizeAt::noise_mean}) {
      const auto executor = make_executor("cpu", graph, {.threads = 2}).value();
      const auto shared = executor->project(points, rivals, noise, count, count, around).value();
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t k = 0; k < count; ++k) {
          Points alone = slice(points, i, 1);
          alone.index[0] = points.draws[k][i];
          alone.draws.clear();
          const Projection own = executor->project(alone, {rivals[i]}, noise, count, count, around).value()[0];
          EXPECT_LT((shared[i].along.col(k) - own.along.col(k)).norm(), 2e-6 * own.along.norm());
          EXPECT_LT((shared[i].gram - own.gram).norm(), 1e-6 * own.gram.norm());
        }
      }
    }
  }
}

// Shared draws must be given for all pairs and all points.
TEST(SharedDraws, ThatAreMissingAreRefused) {
  const Graph graph = perceptron({20, 30});
  const auto executor = make_executor("cpu", graph, {}).value();
  Points points = many_points(graph, 5);
  points.draws = random_draws(5, 3);
  EXPECT_TRUE(executor->pairs(points, parse_noise("gaussian:0.2"), 2, 1));
  EXPECT_EQ(executor->pairs(points, parse_noise("gaussian:0.2"), 2, 2).error().code, ErrorCode::usage);
  points.draws[1].pop_back();
  EXPECT_EQ(executor->pairs(points, parse_noise("gaussian:0.2"), 2).error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace probust
