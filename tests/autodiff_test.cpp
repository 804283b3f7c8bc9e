// SPDX-License-Identifier: MIT
// Differentiation of whole networks: Jacobians, gradients with respect to weights, and gradients of gradients.
#include <gtest/gtest.h>

#include <cmath>

#include "probust/autodiff/vjp.h"
#include "probust/exec/executor.h"
#include "probust/ops/append.h"
#include "support/networks.h"

namespace probust {
namespace {

Executor& executor_of(std::unique_ptr<Executor>& holder, const Graph& graph, const char* backend = "cpu") {
  holder = make_executor(backend, graph, {}).value();
  return *holder;
}

// The Jacobian of the logits by central differences with the given step, in double precision.
std::vector<double> difference_jacobian(const Graph& graph, const Tensor& x, float step) {
  const std::int64_t classes = graph[graph.outputs[0]].shape[0], d = x.size();
  std::vector<double> jacobian(static_cast<std::size_t>(classes * d));
  for (std::int64_t e = 0; e < d; ++e) {
    Tensor up = x, down = x;
    up.data[e] += step;
    down.data[e] -= step;
    const auto a = test::evaluate(graph, {up})[0], b = test::evaluate(graph, {down})[0];
    for (std::int64_t c = 0; c < classes; ++c)
      jacobian[c * d + e] = (double{a.data[c]} - double{b.data[c]}) / (double{up.data[e]} - double{down.data[e]});
  }
  return jacobian;
}

void expect_jacobian(const Graph& graph, const Shape& shape, double tolerance) {
  std::mt19937 random(9);
  const Tensor x = test::random_tensor(shape, random);
  Shape batched = shape;
  batched.insert(batched.begin(), 1);
  const std::vector<double> expected = difference_jacobian(graph, x, 1e-3F);
  for (const char* backend : {"cpu", "reference"}) {
    std::unique_ptr<Executor> holder;
    std::int64_t calls = 0;
    const auto done =
        executor_of(holder, graph, backend).jacobian(Tensor(batched, x.data), [&](std::int64_t, std::span<const float> jacobian) {
          ++calls;
          ASSERT_EQ(jacobian.size(), expected.size());
          for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_NEAR(jacobian[i], expected[i], tolerance * (1 + std::fabs(expected[i]))) << backend << " element " << i;
        });
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(calls, 1);
  }
}

TEST(Autodiff, JacobianOfAConvolutionalNetwork) { expect_jacobian(test::small_cnn(), {1, 8, 8}, 5e-3); }

TEST(Autodiff, JacobianOfASmoothNetwork) { expect_jacobian(test::small_smooth_network(), {6}, 2e-3); }

TEST(Autodiff, GradientsWithRespectToWeights) {
  const Graph graph = test::small_cnn();
  std::vector<ValueId> weights;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    if (graph.nodes[id].op == Op::constant) weights.push_back(static_cast<ValueId>(id));
  }
  ASSERT_EQ(weights.size(), 4U);
  const Vjp sweep = vjp(graph, graph.outputs, weights);
  Graph gradients = sweep.graph;
  gradients.outputs = sweep.gradients;
  std::mt19937 random(5);
  const Tensor x = test::random_tensor({1, 8, 8}, random), c = test::random_tensor({4}, random);
  const auto values = test::evaluate(gradients, {x, c});
  const auto objective = [&](const Graph& g) {
    const auto y = test::evaluate(g, {x})[0];
    double sum = 0;
    for (std::size_t i = 0; i < c.data.size(); ++i) sum += double{c.data[i]} * double{y.data[i]};
    return sum;
  };
  for (std::size_t w = 0; w < weights.size(); ++w) {
    const Tensor original = constant_value(graph, weights[w]);
    ASSERT_EQ(values[w].shape, original.shape);
    for (std::int64_t e = 0; e < original.size(); e += 7) {
      const float step = 1e-3F;
      const auto with = [&](float value) {
        Graph changed = graph;
        Tensor tensor = original;
        tensor.data[e] = value;
        changed.nodes[weights[w]].attributes = ConstantData{std::make_shared<const Tensor>(tensor)};
        return objective(changed);
      };
      const double expected = (with(original.data[e] + step) - with(original.data[e] - step)) /
                              (double{original.data[e] + step} - double{original.data[e] - step});
      EXPECT_NEAR(values[w].data[e], expected, 5e-3 * (1 + std::fabs(expected))) << "weight " << w << " element " << e;
    }
  }
}

// A Hessian-vector product is the vjp of a vjp.
TEST(Autodiff, GradientOfAGradient) {
  const Graph graph = test::small_smooth_network();
  const Vjp first = vjp(graph, graph.outputs, graph.inputs());
  const std::vector<ValueId> x_only = {graph.inputs()[0]};
  const Vjp second = vjp(first.graph, first.gradients, x_only);
  Graph hessian = second.graph;
  hessian.outputs = second.gradients;
  Graph gradient = first.graph;
  gradient.outputs = first.gradients;
  std::mt19937 random(6);
  const Tensor x = test::random_tensor({6}, random), c = test::random_tensor({3}, random), v = test::random_tensor({6}, random);
  const Tensor product = test::evaluate(hessian, {x, c, v})[0];
  const float step = 2e-3F;
  Tensor up = x, down = x;
  for (std::size_t i = 0; i < 6; ++i) {
    up.data[i] += step * v.data[i];
    down.data[i] -= step * v.data[i];
  }
  const auto a = test::evaluate(gradient, {up, c})[0], b = test::evaluate(gradient, {down, c})[0];
  double size = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    const double expected = (double{a.data[i]} - double{b.data[i]}) / (2 * double{step});
    EXPECT_NEAR(product.data[i], expected, 5e-3 * (1 + std::fabs(expected)));
    size += std::fabs(expected);
  }
  EXPECT_GT(size, 0.1) << "the test network must have curvature";
}

TEST(Autodiff, AnUnusedInputHasAZeroGradient) {
  Graph g;
  const ValueId x = append_input(g, {2}, Extent::example, "x"), unused = append_input(g, {3}, Extent::example, "unused");
  g.outputs = {append(g, Op::sign, {x})};
  const std::vector<ValueId> wrt = {x, unused};
  const Vjp sweep = vjp(g, g.outputs, wrt);
  Graph gradients = sweep.graph;
  gradients.outputs = sweep.gradients;
  const auto values = test::evaluate(gradients, {Tensor({2}, {1, -1}), Tensor({3}), Tensor({2}, {1, 1})});
  for (const Tensor& value : values) {
    for (const float gradient : value.data) EXPECT_EQ(gradient, 0);
  }
}

TEST(Autodiff, TheForwardPassIsSharedBySeeds) {
  const Graph graph = test::small_cnn();
  const Vjp sweep = vjp(graph, graph.outputs, graph.inputs());
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) EXPECT_NE(sweep.graph.nodes[id].extent, Extent::seeded);
}

}  // namespace
}  // namespace probust
