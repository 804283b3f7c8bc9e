// SPDX-License-Identifier: MIT
// Compares the CPU's kernels, for each compiler and at the sizes of real networks, with the operators' definitions: random
// shapes, every remainder, and guard zones that must remain intact. Small operands would fit into registers and full blocks;
// here, blocks are split and have remainders. Also compiled for other instruction sets than this machine's best
// (tests/CMakeLists.txt), because block sizes depend on them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <tuple>

#include "probust/ops/append.h"
#include "support/lanes.h"
#include "support/random_layers.h"

namespace probust {
namespace {

using test::Layer;

// Values of one lane of [elements][lanes].
Tensor lane_of(const std::vector<float>& values, const Shape& shape, std::int64_t lanes, std::int64_t lane) {
  Tensor tensor(shape);
  for (std::int64_t e = 0; e < tensor.size(); ++e) tensor.data[e] = values[e * lanes + lane];
  return tensor;
}

// Runs the layer for a batch with each compiler, and compares some of the lanes with the definition.
void expect_right(const Layer& layer, const Batch& batch, std::mt19937& random) {
  const Graph graph = test::with_constants(layer.op, layer.extents, random);
  const test::Values inputs = test::random_inputs(graph, batch, random);
  const std::int64_t lanes = batch.lanes(graph[graph.outputs[0]].extent);
  std::vector<test::Values> outputs;
  const bool product = layer.op.op == Op::matmul || layer.op.op == Op::conv || layer.op.op == Op::conv_transpose;
  for (const test::Compiler& compiler : std::span(test::kCompilers).first(product ? 2 : 1))  // others share the kernels
    outputs.push_back(test::run(*compiler.compile(graph), graph, batch, inputs));
  const auto reference = compile_reference(graph);
  for (const std::int64_t lane : std::array{std::int64_t{0}, lanes / 2, lanes - 1}) {
    std::vector<Tensor> own;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Node& input = graph[graph.inputs()[i]];
      const std::int64_t of_input = batch.lanes(input.extent);
      own.push_back(lane_of(inputs[i], input.shape, of_input, lane % of_input));
    }
    const Tensor expected = test::run_one(*reference, graph, own)[0];
    double size = 1;
    for (const float value : expected.data) size = std::max(size, std::fabs(double{value}));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor actual = lane_of(outputs[i][0], expected.shape, lanes, lane);
      double distance = 0;
      for (std::size_t e = 0; e < expected.data.size(); ++e) {
        const double difference = std::fabs(double{actual.data[e]} - double{expected.data[e]});
        distance = std::isnan(difference) ? INFINITY : std::max(distance, difference);
      }
      ASSERT_LT(distance, 1e-5 * size) << test::describe(layer.op) << ", " << test::kCompilers[i].name << ", " << batch.examples
                                       << " examples, " << batch.seeds << " seeds, lane " << lane;
    }
  }
}

TEST(Kernels, ConvolutionsOfRandomShapesAreRight) {
  std::mt19937 random(11);
  for (int i = 0; i < 100; ++i) expect_right(test::random_convolution(random), test::random_batch(random), random);
}

TEST(Kernels, ConvolutionsOfTrainingAreRight) {
  std::mt19937 random(14);
  for (int i = 0; i < 150; ++i) {
    const Batch batch{test::pick(random, {1, 1, 2, 5}), test::pick(random, {1, 1, 3})};
    expect_right(test::random_training_convolution(random), batch, random);
  }
}

// The layers of the papers' network, in which blocks of rows begin and end within images.
TEST(Kernels, FilterGradientsOfABatchAreRight) {
  std::mt19937 random(15);
  for (const std::int64_t images : {1, 7, 16}) {
    const Window first = test::square(28, 5, 1, 0), second = test::square(12, 5, 1, 0);
    const auto extents = {Extent::example, Extent::example};
    expect_right({{Op::conv, {{images, 1, 28, 28}, {10, 1, 5, 5}}, first}, extents}, {1, 1}, random);
    expect_right({{Op::conv, {{images, 10, 12, 12}, {20, 10, 5, 5}}, second}, extents}, {1, 1}, random);
    expect_right({{Op::conv_transpose, {{images, 20, 8, 8}, {20, 10, 5, 5}}, second}, extents}, {1, 1}, random);
    expect_right({{Op::conv_filter_grad, {{images, 1, 28, 28}, {images, 10, 24, 24}}, first}, extents}, {1, 1}, random);
    expect_right({{Op::conv_filter_grad, {{images, 10, 12, 12}, {images, 20, 8, 8}}, second}, extents}, {1, 1}, random);
  }
}

TEST(Kernels, ProductsOfRandomShapesAreRight) {
  std::mt19937 random(12);
  for (int i = 0; i < 60; ++i) expect_right(test::random_product(random), test::random_batch(random), random);
}

// For 3x3 convolutions with 512 channels, a remainder of rows needs more memory than a full block: ResNet-18 once overran it.
TEST(Kernels, LayersOfRealNetworksAreRightWithEveryRemainder) {
  std::mt19937 random(13);
  const Layer deep = test::convolution(512, 512, test::square(1, 3, 1, 1));
  for (const std::int64_t lanes : {1, 4, 11, 12, 13, 32, 48, 49, 80, 95, 176}) {
    expect_right(deep, {lanes, 1}, random);
    expect_right(test::transposed(deep), {lanes, 1}, random);
  }
  for (const Layer& layer : test::layers_of_real_networks()) {
    for (const Batch& batch : {Batch{1, 1}, Batch{5, 9}, Batch{48, 1}}) {
      expect_right(layer, batch, random);
      expect_right(test::transposed(layer), batch, random);
    }
  }
}

// The other operators, with numbers of lanes that are not multiples of any block size.
TEST(Kernels, OtherOperatorsOfRandomShapesAreRight) {
  std::mt19937 random(14);
  for (int i = 0; i < 16; ++i) {
    const std::int64_t channels = test::pick(random, {1, 3, 17, 64});
    const Window window = test::random_window(random, 2);
    const Shape output = window.output();
    const Shape image{1, channels, window.image[0], window.image[1]}, pooled{1, channels, output[0], output[1]};
    const Batch batch = test::random_batch(random);
    expect_right({{Op::sum_pool, {image}, window}, {Extent::example}}, batch, random);
    expect_right({{Op::sum_unpool, {pooled}, window}, {Extent::seeded}}, batch, random);
    const std::int64_t rows = test::between(random, 1, 9), width = test::pick(random, {1, 10, 197, 1000});
    expect_right({{Op::softmax, {{rows, width}}, AxisAttribute{i % 2}}, {Extent::example}}, batch, random);
    expect_right({{Op::reduce_sum, {{rows, channels, width}}, AxesAttributes{{i % 3}}}, {Extent::seeded}}, batch, random);
    expect_right({{Op::multiply, {{rows, 1, width}, {channels, 1}}, {}}, {Extent::example, Extent::seeded}}, batch, random);
    expect_right(
        {{Op::select, {{rows, width}, {rows, width}, {1, width}}, {}}, {Extent::example, Extent::seeded, Extent::constant}},
        batch, random);
    expect_right({{Op::concat, {{rows, width}, {3, width}}, AxisAttribute{0}}, {Extent::example, Extent::constant}}, batch,
                 random);
    expect_right({{Op::transpose, {{rows, width, channels}}, PermutationAttribute{{2, 0, 1}}}, {Extent::seeded}}, batch, random);
    for (const Op op : {Op::relu, Op::exp, Op::tanh, Op::sigmoid, Op::erf})
      expect_right({{op, {{rows, width}}, {}}, {Extent::example}}, batch, random);
  }
}

// Runs the layer on few distinct values, including NaN, and compares all lanes with the definition.
void expect_same_choices(const Layer& layer, std::int64_t examples, std::mt19937& random) {
  const Graph graph = test::with_constants(layer.op, layer.extents, random);
  const Batch batch{examples, 3};
  test::Values inputs = test::random_inputs(graph, batch, random);
  constexpr std::array kValues{-INFINITY, -1.0F, 0.0F, 1.0F, NAN};
  for (float& x : inputs[0]) x = kValues[random() % kValues.size()];
  const std::vector<float> actual = test::run(*compile_cpu(graph), graph, batch, inputs)[0],
                           expected = test::run(*compile_reference(graph), graph, batch, inputs)[0];
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool same = actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i]));
    ASSERT_TRUE(same) << test::describe(layer.op) << ", " << examples << " examples, float " << i << ": " << actual[i]
                      << " instead of " << expected[i];
  }
}

// Max-pooling windows: each example chooses its maxima, and the cotangents are seeded.
TEST(Kernels, MaximaOfRandomWindowsAreRight) {
  std::mt19937 random(15);
  for (int i = 0; i < 40; ++i) {
    Window window = test::random_window(random, 2);
    if (i % 4 == 0) {  // windows entirely in the padding, before and after the image
      window.pad_low[0] += test::between(random, 0, 2);
      window.pad_high[1] += test::between(random, 0, 3);
    }
    const std::int64_t channels = test::pick(random, {1, 3, 17, 64});
    const Shape output = window.output();
    const Shape image{1, channels, window.image[0], window.image[1]}, pooled{1, channels, output[0], output[1]};
    const Batch batch = test::random_batch(random);
    expect_right({{Op::max_pool, {image}, window}, {Extent::example}}, batch, random);
    expect_right({{Op::max_scatter, {image, pooled}, window}, {Extent::example, Extent::seeded}}, batch, random);
    expect_right({{Op::max_gather, {image, image}, window}, {Extent::example, Extent::seeded}}, batch, random);
  }
}

// With equal cells and NaN, vector instructions could choose differently, in whole registers or in the remaining lanes.
TEST(Kernels, TiesAndNaNAmongMaximaAreRightInEveryLane) {
  std::mt19937 random(19);
  const Window apart{{4, 6}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}, overlapping{{4, 6}, {3, 3}, {1, 2}, {1, 1}, {1, 1}, {1, 1}};
  for (const Window& window : {apart, overlapping}) {
    const Shape output = window.output(), image{1, 2, 4, 6}, pooled{1, 2, output[0], output[1]};
    for (const std::int64_t examples : {1, 2, 3, 4, 7, 8, 15, 16, 31, 37}) {
      expect_same_choices({{Op::max_pool, {image}, window}, {Extent::example}}, examples, random);
      expect_same_choices({{Op::max_scatter, {image, pooled}, window}, {Extent::example, Extent::seeded}}, examples, random);
      expect_same_choices({{Op::max_gather, {image, image}, window}, {Extent::example, Extent::seeded}}, examples, random);
    }
  }
}

// As in attention and its derivatives, either operand may depend on the seed.
TEST(Kernels, LargeProductsOfTwoVaryingOperandsAreRight) {
  std::mt19937 random(18);
  for (const Extent a : {Extent::example, Extent::seeded}) {
    for (const Extent b : {Extent::example, Extent::seeded}) {
      expect_right({{Op::matmul, {{2, 20, 64}, {2, 64, 33}}, MatmulAttributes{false, false}}, {a, b}}, {3, 4}, random);
      expect_right({{Op::matmul, {{2, 64, 20}, {2, 33, 64}}, MatmulAttributes{true, true}}, {a, b}}, {3, 4}, random);
    }
  }
}

// Constant values have only one lane, whatever the batch is.
TEST(Kernels, ConstantOperandsHaveOneLane) {
  std::mt19937 random(17);
  for (const test::OpCase& row : test::op_cases()) {
    const Graph graph = test::with_constants(row, std::vector<Extent>(row.operands.size(), Extent::constant), random);
    const Batch batch{5, 3};
    const auto expected = test::run(*compile_reference(graph), graph, batch, {});
    for (const test::Compiler& compiler : test::kCompilers) {
      const auto actual = test::run(*compiler.compile(graph), graph, batch, {});
      for (std::size_t e = 0; e < expected[0].size(); ++e)
        ASSERT_NEAR(actual[0][e], expected[0][e], 2e-5 * (1 + std::fabs(expected[0][e]))) << test::describe(row);
    }
  }
}

// Layers of every algorithm that share a filter, and products that share a matrix: each needs the constant in a different
// order.
TEST(Kernels, PackedFormsOfAConstantAreKeptApart) {
  std::mt19937 random(19);
  Graph g;
  const ValueId filter = append_constant(g, test::random_tensor({16, 16, 3, 3}, random, -0.3F, 0.3F)),
                matrix = append_constant(g, test::random_tensor({50, 50}, random, -0.3F, 0.3F));
  for (const Op op : {Op::conv, Op::conv_transpose}) {
    for (const auto& [size, stride, groups] : {std::tuple{4, 1, 1}, {2, 1, 1}, {6, 2, 1}, {5, 1, 2}, {5, 1, 4}}) {
      const Window window = test::square(size, 3, stride, 1, groups);
      const Shape output = window.output();
      const Shape shape = op == Op::conv ? Shape{1, 16 * groups, size, size} : Shape{1, 16, output[0], output[1]};
      g.outputs.push_back(append(g, op, {append_input(g, shape, Extent::example, "x"), filter}, window));
    }
  }
  for (const bool turned : {false, true}) {
    for (const std::int64_t rows : {1, 3}) {
      const ValueId x = append_input(g, {rows, 50}, Extent::example, "x"), y = append_input(g, {50, rows}, Extent::example, "y");
      g.outputs.push_back(append(g, Op::matmul, {x, matrix}, MatmulAttributes{false, turned}));
      g.outputs.push_back(append(g, Op::matmul, {matrix, y}, MatmulAttributes{turned, false}));
    }
  }
  const Batch batch{5, 1};
  const test::Values inputs = test::random_inputs(g, batch, random);
  const test::Values expected = test::run(*compile_reference(g), g, batch, inputs);
  for (const test::Compiler& compiler : test::kCompilers) {
    const test::Values actual = test::run(*compiler.compile(g), g, batch, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      for (std::size_t e = 0; e < expected[i].size(); ++e) ASSERT_NEAR(actual[i][e], expected[i][e], 1e-4) << compiler.name << i;
    }
  }
}

// ---- the guard zones themselves

TEST(Stretch, PartsAreAsLongAsAskedForAndGuarded) {
  Stretch stretch;
  const auto parts = stretch.take(std::array<std::int64_t, 3>{5, 0, 33});
  for (const float* part : parts) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part) % 64, 0U);
  std::fill_n(parts[0], 5, 1.0F);
  std::fill_n(parts[2], 33, 2.0F);
  EXPECT_TRUE(stretch.intact());
  EXPECT_EQ(stretch.take(33), stretch.data());
  std::fill_n(stretch.data(), 33, 2.0F);
  EXPECT_TRUE(stretch.intact());
  stretch.limit(stretch.data(), 7);
  std::fill_n(stretch.data(), 7, 3.0F);
  EXPECT_TRUE(stretch.intact());
  stretch.limit(stretch.data(), 20);
  std::fill_n(stretch.data(), 20, 3.0F);
  EXPECT_TRUE(stretch.intact());
  stretch.spoil();
  EXPECT_TRUE(std::isnan(*stretch.take(1)));
}

#ifndef PROBUST_SANITIZED  // sanitizers would end the program
TEST(Stretch, WritesBeyondAPartAreFound) {
  for (const std::int64_t beyond : {-1, 5, 20}) {
    Stretch stretch;
    float* part = stretch.take(5);
    part[beyond] = 0;
    EXPECT_FALSE(stretch.intact()) << beyond;
  }
  Stretch stretch;
  float* part = stretch.take(100);
  stretch.limit(part, 10);
  part[60] = 0;
  EXPECT_FALSE(stretch.intact());
}
#endif

}  // namespace
}  // namespace probust
