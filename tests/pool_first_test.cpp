// SPDX-License-Identifier: MIT
// max_pool(relu(x)) as relu(max_pool(x)): values and derivatives are the same, with ties, negative windows and padding. Also
// tests which graphs must not change..
#include "probust/passes/pool_first.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "probust/autodiff/vjp.h"
#include "probust/ops/build.h"
#include "probust/ops/print.h"
#include "support/lanes.h"
#include "support/random_layers.h"

namespace probust {
namespace {

// A convolution, a rectifier and a pool; the pool's result is scaled.
Graph pooled(const Window& window, std::int64_t channels, std::mt19937& random) {
  Graph g;
  const Shape image{1, channels, window.image[0], window.image[1]};
  const ValueId x = append_input(g, image, Extent::example, "x");
  const ValueId positive = append(g, Op::relu, {x}, {}, "rectifier");
  const ValueId y = append(g, Op::max_pool, {positive}, window, "pool");
  g.outputs = {build::multiply(g, y, append_constant(g, test::random_tensor(g[y].shape, random)))};
  return g;
}

std::vector<Op> ops(const Graph& graph) {
  std::vector<Op> all;
  for (const Node& node : graph.nodes) all.push_back(node.op);
  return all;
}

Graph derivative(const Graph& graph) {
  const std::vector<ValueId> wrt = graph.inputs();
  return vjp(graph, graph.outputs, wrt).graph;
}

// Few distinct values, so that windows have ties, zeros, or no positive value.
test::Values coarse_inputs(const Graph& graph, const Batch& batch, std::mt19937& random) {
  test::Values inputs = test::random_inputs(graph, batch, random, -2, 2);
  for (const ValueId id : graph.inputs()) {
    if (graph[id].extent == Extent::seeded) continue;
    auto& values = inputs[0];
    const float shift = random() % 2 == 0 ? 0.0F : -2.0F;
    for (float& value : values) value = std::round(value) + (random() % 2 == 0 ? shift : 0.0F);
  }
  return inputs;
}

TEST(PoolFirst, KeepsValuesAndDerivative) {
  std::mt19937 random(51);
  int swapped = 0;
  for (int i = 0; i < 60; ++i) {
    const Window window = test::random_window(random, 2);
    const Graph graph = pooled(window, test::pick(random, {1, 3}), random), other = pool_first(graph);
    check(other);
    swapped += ops(other) == ops(graph) ? 0 : 1;
    const Batch batch{5, 3};
    const Graph before = derivative(graph), after = derivative(other);
    const test::Values inputs = coarse_inputs(before, batch, random);
    const test::Values expected = test::run(*compile_reference(before), before, batch, inputs);
    EXPECT_EQ(test::run(*compile_reference(after), after, batch, inputs), expected) << to_text(graph);
    for (const test::Compiler& compiler : test::kCompilers)
      EXPECT_EQ(test::run(*compiler.compile(after), after, batch, inputs), expected) << compiler.name << "\n" << to_text(graph);
  }
  EXPECT_GT(swapped, 20);
}

TEST(PoolFirst, RectifiesAfterThePool) {
  std::mt19937 random(52);
  const Graph graph = pool_first(pooled(test::square(6, 3, 2, 1), 2, random));
  EXPECT_EQ(ops(graph), (std::vector<Op>{Op::input, Op::max_pool, Op::relu, Op::constant, Op::multiply})) << to_text(graph);
  EXPECT_EQ(graph[1].shape, graph[2].shape);
  EXPECT_EQ(graph[1].inputs[0], 0);
  EXPECT_EQ(graph[4].inputs[0], 2);
}

TEST(PoolFirst, NotANumberStays) {
  Graph g;
  const ValueId x = append_input(g, {1, 1, 4, 4}, Extent::example, "x");
  g.outputs = {append(g, Op::max_pool, {append(g, Op::relu, {x})}, test::square(4, 2, 2, 0))};
  Tensor image({1, 1, 4, 4}, std::vector<float>(16, -1));
  image.data[5] = std::numeric_limits<float>::quiet_NaN();
  const Graph other = pool_first(g);
  for (const test::Compiler& compiler : test::kCompilers) {
    const std::vector<float> y = test::run_one(*compiler.compile(other), other, {image})[0].data;
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ(y[3], 0);
  }
}

// The maximum of no cells is the lowest float, which a rectifier after the pool would change.
TEST(PoolFirst, WindowsInThePaddingAreLeftAlone) {
  std::mt19937 random(53);
  const auto window = [](std::int64_t low, std::int64_t high) {
    return Window{{4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, low}, {1, high}};
  };
  for (const auto& [low, high, swapped] : {std::tuple{1, 1, true}, {2, 1, false}, {1, 2, false}, {0, 0, true}}) {
    const Graph graph = pooled(window(low, high), 1, random);
    EXPECT_EQ(ops(pool_first(graph)) != ops(graph), swapped) << low << high;
  }
  // The taps of this window are two pixels before the image and one pixel after it.
  const Window around{{1, 1}, {2, 1}, {1, 1}, {3, 1}, {2, 0}, {1, 0}};
  const Graph graph = pooled(around, 1, random);
  EXPECT_EQ(ops(pool_first(graph)), ops(graph));
}

TEST(PoolFirst, OtherReadersOfTheRectifierAreLeftAlone) {
  const Window halves = test::square(4, 2, 2, 0);
  const auto build = [&](bool output) {
    Graph g;
    const ValueId x = append_input(g, {1, 1, 4, 4}, Extent::example, "x"), r = append(g, Op::relu, {x});
    const ValueId y = append(g, Op::max_pool, {r}, halves);
    g.outputs = {y, output ? r : append(g, Op::max_pool, {r}, test::square(4, 4, 1, 0))};
    return g;
  };
  for (const bool output : {false, true}) EXPECT_EQ(to_text(pool_first(build(output))), to_text(build(output)));
  Graph other;  // a pool of another function
  const ValueId x = append_input(other, {1, 1, 4, 4}, Extent::example, "x");
  other.outputs = {append(other, Op::max_pool, {append(other, Op::absolute, {x})}, halves)};
  EXPECT_EQ(to_text(pool_first(other)), to_text(other));
  Graph average;
  const ValueId z = append_input(average, {1, 1, 4, 4}, Extent::example, "z");
  average.outputs = {append(average, Op::sum_pool, {append(average, Op::relu, {z})}, halves)};
  EXPECT_EQ(to_text(pool_first(average)), to_text(average));
}

// Graph outputs, two pools of one value, and consecutive rectifiers.
TEST(PoolFirst, SeveralPoolsOfAGraph) {
  std::mt19937 random(54);
  Graph g;
  const ValueId x = append_input(g, {1, 2, 6, 6}, Extent::example, "x");
  const ValueId a = append(g, Op::relu, {x}), b = append(g, Op::relu, {x});
  const ValueId first = append(g, Op::max_pool, {a}, test::square(6, 3, 1, 0)),
                second = append(g, Op::max_pool, {b}, test::square(6, 2, 2, 0));
  const ValueId last = append(g, Op::max_pool, {append(g, Op::relu, {append(g, Op::negate, {first})})}, test::square(4, 2, 1, 1));
  g.outputs = {last, second, last};
  const Graph other = pool_first(g);
  check(other);
  EXPECT_NE(to_text(other), to_text(g));
  const std::vector<Tensor> inputs{test::random_tensor({1, 2, 6, 6}, random)};
  const auto expected = test::evaluate(g, inputs), actual = test::evaluate(other, inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(actual[i].data, expected[i].data) << i;
}

}  // namespace
}  // namespace probust
