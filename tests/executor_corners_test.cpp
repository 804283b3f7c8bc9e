// SPDX-License-Identifier: MIT
// Cases that plain networks do not exercise: NaN in either operand, logits far apart, groups with their own biases, a split last
// layer, clipped samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "probust/exec/executor.h"
#include "probust/ops/append.h"
#include "probust/passes/simplify.h"
#include "probust/perturb/noise_text.h"
#include "support/lanes.h"
#include "support/networks.h"

namespace probust {
namespace {

using Floats = std::vector<float>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::unique_ptr<Program> compiled(const Graph& graph, bool reference) {
  return reference ? compile_reference(graph) : compile_cpu(graph);
}

TEST(ExecutorCorners, NaNWinsMaximumAndMinimumFromEitherSide) {
  for (const Op op : {Op::maximum, Op::minimum}) {
    Graph g;
    g.outputs = {append(g, op, {append_input(g, {3}, Extent::example, "a"), append_input(g, {3}, Extent::example, "b")})};
    for (const bool reference : {true, false}) {
      const Floats y = test::run_one(*compiled(g, reference), g, {Tensor({3}, {kNaN, 1, 2}), Tensor({3}, {1, kNaN, 3})})[0].data;
      EXPECT_TRUE(std::isnan(y[0])) << reference;
      EXPECT_TRUE(std::isnan(y[1])) << reference;
      EXPECT_EQ(y[2], op == Op::maximum ? 3 : 2) << reference;
    }
  }
}

// e^200 overflows float32, so the largest logit is subtracted first, wherever it is.
TEST(ExecutorCorners, SoftmaxOfLogitsFarApart) {
  for (const Op op : {Op::softmax, Op::log_softmax}) {
    Graph g;
    g.outputs = {append(g, op, {append_input(g, {3}, Extent::example, "x")}, AxisAttribute{0})};
    for (const bool reference : {true, false}) {
      for (std::size_t place = 0; place < 3; ++place) {
        Floats logits(3, -100.0F), expected(3, op == Op::softmax ? 0.0F : -200.0F);
        logits[place] = 100;
        expected[place] = op == Op::softmax ? 1.0F : 0.0F;
        const Floats y = test::run_one(*compiled(g, reference), g, {Tensor({3}, logits)})[0].data;
        for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(y[i], expected[i], 1e-30) << place;  // denormals may be flushed to zero
      }
    }
  }
}

// Two groups of two channels; on the CPU, every algorithm adds the bias as part of the convolution's product.
TEST(ExecutorCorners, GroupsOfAConvolutionHaveTheirOwnBiases) {
  std::mt19937 random(3);
  Graph g;
  const ValueId x = append_input(g, {1, 2, 4, 4}, Extent::example, "x");
  const Window window{{4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2};
  const ValueId y = append(g, Op::conv, {x, append_constant(g, test::random_tensor({4, 1, 3, 3}, random))}, window);
  g.outputs = {build::add(g, y, append_constant(g, Tensor({4, 1, 1}, {1, 2, 30, 40})))};
  const Tensor image = test::random_tensor({1, 2, 4, 4}, random);
  const Floats expected = test::evaluate(g, {image})[0].data;
  for (const test::Compiler& compiler : test::kCompilers) {
    const Floats actual = test::run_one(*compiler.compile(g), g, {image})[0].data;
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-4) << compiler.name << i;
  }
}

// More than kManyRivals classes after a narrow layer: margin gradients come from the gradients of the layer's inputs.
TEST(ExecutorCorners, MarginsThroughASplitLastLayerHaveItsBias) {
  constexpr std::int64_t kClasses = 300;
  std::mt19937 random(4);
  Graph g;
  const ValueId x = append_input(g, {4}, Extent::example, "x");
  const ValueId first = build::matmul(g, build::reshape(g, x, {1, 4}), append_constant(g, test::random_tensor({4, 5}, random)));
  const ValueId last =
      build::matmul(g, append(g, Op::tanh, {first}), append_constant(g, test::random_tensor({5, kClasses}, random)));
  const ValueId bias = append_constant(g, test::random_tensor({kClasses}, random, -3, 3));
  g.outputs = {build::add(g, build::reshape(g, last, {kClasses}), bias)};
  const auto executor = make_executor("cpu", g, {}).value();
  ASSERT_LT(executor->backwards_to_linearize(), kClasses - 1);
  const Points points{test::random_tensor({1, 4}, random), {0}, {7}, 0};
  const Eigen::VectorXd expected = margins_of(executor->logits(points.x).value().row(0), 7);
  const Linearization at_x = executor->linearize(points, *isotropic_gaussian()).value()[0];
  EXPECT_LT((at_x.margins - expected).cwiseAbs().maxCoeff(), 1e-4);
  // Samples that hardly move have nearly the margins of x.
  const Linearization averaged = executor->linearize_averaged(points, {isotropic_gaussian(), 1e-6}, 3).value()[0];
  EXPECT_LT((averaged.margins - expected).cwiseAbs().maxCoeff(), 1e-3);
  EXPECT_LT((averaged.sampled.colwise() - expected).cwiseAbs().maxCoeff(), 1e-3);
}

// At the upper end of the clipping range, a sample and its mirror image cannot both differ from x.
TEST(ExecutorCorners, ClippedPairsStayWithinTheRange) {
  const auto shape = clipped(isotropic_gaussian(), {0, 1, 0});
  EXPECT_TRUE(shape->mirrored());
  EXPECT_FALSE(shape->additive());
  const Graph g = test::linear_classifier(Tensor({2, 1}, {1, 0}), Tensor({2}));
  const auto executor = make_executor("cpu", g, {}).value();
  const Pairs pairs = executor->pairs({Tensor({1, 1}, {1}), {0}, {0}, 0}, {shape, 0.5}, 50).value()[0];
  EXPECT_EQ(pairs.plus.maxCoeff(), 1);
  EXPECT_EQ(pairs.minus.maxCoeff(), 1);
  EXPECT_LT(pairs.plus.minCoeff(), 0.5);
  EXPECT_LT(pairs.minus.minCoeff(), 0.5);
}

// A two-valued draw takes the other value in the mirrored sample.
TEST(ExecutorCorners, MirroredCategoricalDrawsAreOpposite) {
  const auto shape = categorical_noise({{{0, 1}, {0.5, 0.5, 0.5, 0.5}}}, "coin");
  const std::vector<std::uint32_t> points(100, 0);
  std::vector<std::uint32_t> samples(100);
  std::iota(samples.begin(), samples.end(), 0U);
  Floats plus(200, 0.0F), minus;
  std::fill_n(plus.begin(), 100, 1.0F);  // [elements][lanes]: the first value is present
  minus = plus;
  shape->add({1, points, samples}, 2, 1, plus.data());
  shape->add({1, points, samples}, 2, -1, minus.data());
  for (std::size_t lane = 0; lane < 100; ++lane) EXPECT_EQ(plus[lane] + minus[lane], 1) << lane;
}

// If noise cannot be mirrored, a pair consists of two independent samples.
TEST(ExecutorCorners, PairsThatAreNotMirroredAreTwoCopies) {
  const auto one_sided = custom_noise("one-sided", [](NoiseStream& random, double scale, std::span<float> x) {
    for (float& value : x) value += static_cast<float>(scale * random.uniform());
  });
  ASSERT_FALSE(one_sided->mirrored());
  const Graph g = test::linear_classifier(Tensor({2, 1}, {1, 0}), Tensor({2}));
  const auto executor = make_executor("cpu", g, {}).value();
  const Pairs pairs = executor->pairs({Tensor({1, 1}, {1}), {0}, {0}, 0}, {one_sided, 0.5}, 50).value()[0];
  for (Eigen::Index j = 0; j < pairs.size(); ++j) EXPECT_NE(pairs.plus(0, j), pairs.minus(0, j)) << j;
  EXPECT_GE(pairs.minus.minCoeff(), 1);
}

// An index outside the axis reads and writes nothing.
TEST(ExecutorCorners, IndicesBeyondTheAxisMeanNothing) {
  Graph take, put;
  const ValueId x = append_input(take, {3}, Extent::example, "x"), at = append_input(take, {4}, Extent::example, "at");
  take.outputs = {append(take, Op::take, {x, at}, AxisAttribute{0})};
  const ValueId y = append_input(put, {4}, Extent::example, "y"), to = append_input(put, {4}, Extent::example, "to");
  put.outputs = {append(put, Op::put_add, {y, to}, AxisExtent{0, 3})};
  const Tensor indices({4}, {0, 2, 3, -1});
  for (const bool reference : {true, false}) {
    const Floats taken = test::run_one(*compiled(take, reference), take, {Tensor({3}, {5, 6, 7}), indices})[0].data;
    EXPECT_EQ(taken[0], 5);
    EXPECT_EQ(taken[1], 7);
    EXPECT_TRUE(std::isnan(taken[2]));
    EXPECT_TRUE(std::isnan(taken[3]));
    EXPECT_EQ(test::run_one(*compiled(put, reference), put, {Tensor({4}, {1, 2, 4, 8}), indices})[0].data, (Floats{1, 0, 2}));
  }
}

// diag= names a file of variances, std= one of standard deviations. A file name may contain @; the columns come after the last
// @.
TEST(ExecutorCorners, TextsOfNoiseNameTheirFiles) {
  std::string asked;
  NoiseSource source;
  source.array = [&](const std::string& path) {
    asked = path;
    return NoiseArray{{2}, {4, 9}, path};
  };
  const std::vector<std::uint32_t> one{0};
  const auto variances = [&](const std::string& text) {
    Floats values(2, 1.0F);
    parse_noise(text, source).shape->variances(one, 2, values.data());
    return values;
  };
  EXPECT_EQ(variances("gaussian:diag=file"), (Floats{4, 9}));
  EXPECT_EQ(variances("gaussian:std=file"), (Floats{16, 81}));
  EXPECT_EQ(variances("gaussian:std=a@b.npy@0,1"), (Floats{16, 81}));
  EXPECT_EQ(asked, "a@b.npy");
}

// Rotating three axes and swapping two of them do not commute.
TEST(ExecutorCorners, JoinedTransposesKeepTheirOrder) {
  std::mt19937 random(5);
  Graph g;
  const ValueId x = append_input(g, {2, 3, 4}, Extent::example, "x");
  g.outputs = {build::transpose(g, build::transpose(g, x, {1, 2, 0}), {1, 0, 2})};
  const Graph simple = simplify(g);
  EXPECT_LT(simple.nodes.size(), g.nodes.size());
  const Tensor value = test::random_tensor({2, 3, 4}, random);
  EXPECT_EQ(test::evaluate(simple, {value})[0].data, test::evaluate(g, {value})[0].data);
}

}  // namespace
}  // namespace probust
