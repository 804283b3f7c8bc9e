// SPDX-License-Identifier: MIT
// 3x3 convolutions with stride 1 at the sizes of real networks: Winograd's algorithm is used, is nearly as accurate as the sums
// of the definition in float64, and computes the same bits for a lane whatever the other lanes are. The sides of images are odd
// and are not multiples of a tile.
#include "probust/exec/cpu/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "probust/ops/append.h"
#include "support/lanes.h"
#include "support/random_layers.h"

namespace probust {
namespace {

using test::Layer;

constexpr std::int64_t kLanes = test::kManyLanes;

Layer layer(std::int64_t channels, std::int64_t filters, const Shape& image, const Shape& low, const Shape& high) {
  return test::convolution(channels, filters, {image, {3, 3}, {1, 1}, {1, 1}, low, high});
}

std::vector<Layer> layers() {
  std::vector<Layer> all{
      layer(64, 64, {13, 11}, {1, 1}, {1, 1}), layer(64, 96, {7, 5}, {0, 2}, {1, 0}),   layer(128, 64, {5, 9}, {2, 2}, {2, 2}),
      layer(256, 128, {3, 7}, {1, 1}, {1, 1}), layer(512, 512, {2, 3}, {1, 1}, {1, 1}), layer(512, 256, {1, 4}, {1, 1}, {1, 1}),
      layer(512, 64, {1, 1}, {2, 2}, {2, 2}),  layer(67, 131, {6, 6}, {0, 0}, {0, 0}),  layer(64, 64, {4, 4}, {1, 1}, {1, 1}),
      layer(129, 65, {10, 3}, {2, 0}, {0, 1}), layer(16, 18, {13, 13}, {1, 1}, {1, 1}), layer(16, 14, {5, 8}, {1, 2}, {2, 1}),
  };
  for (std::size_t i = 0, count = all.size(); i < count; ++i) {
    if (std::get<Window>(all[i].op.attributes).image == Shape{1, 1}) continue;  // the transposed one has a single pixel
    Layer turned = test::transposed(all[i]);
    turned.extents[0] = Extent::example;
    all.push_back(std::move(turned));
  }
  return all;
}

// One output of the convolution or transposed convolution of a lane, in float64.
double exact(const Graph& graph, const Node& node, const std::vector<float>& in, std::int64_t lane, std::int64_t channel,
             std::int64_t y, std::int64_t x) {
  const auto& window = std::get<Window>(node.attributes);
  const Tensor& filter = constant_value(graph, node.inputs[1]);
  const Shape& image = graph[node.inputs[0]].shape;
  const bool transposed = node.op == Op::conv_transpose;
  double sum = 0;
  for (std::int64_t c = 0; c < image[1]; ++c) {
    const std::int64_t row = transposed ? c * filter.shape[1] + channel : channel * filter.shape[1] + c;
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < 3; ++j) {
        const std::int64_t from_y = transposed ? y + window.pad_low[0] - i : y - window.pad_low[0] + i,
                           from_x = transposed ? x + window.pad_low[1] - j : x - window.pad_low[1] + j;
        if (from_y < 0 || from_y >= image[2] || from_x < 0 || from_x >= image[3]) continue;
        const std::int64_t pixel = (c * image[2] + from_y) * image[3] + from_x;
        sum += double{filter.data[(row * 3 + i) * 3 + j]} * double{in[pixel * kLanes + lane]};
      }
    }
  }
  return sum;
}

// The largest error of some channels and lanes, relative to the largest output.
double relative_error(const Graph& graph, const std::vector<float>& in, const std::vector<float>& out) {
  const Node& node = graph[graph.outputs[0]];
  const Shape& shape = node.shape;
  double size = 0, error = 0;
  for (const std::int64_t lane : {std::int64_t{0}, kLanes / 2 + 1, kLanes - 1}) {
    for (const std::int64_t channel : {std::int64_t{0}, shape[1] / 2, shape[1] - 1}) {
      for (std::int64_t y = 0; y < shape[2]; ++y) {
        for (std::int64_t x = 0; x < shape[3]; ++x) {
          const double expected = exact(graph, node, in, lane, channel, y, x);
          const double actual = out[((channel * shape[2] + y) * shape[3] + x) * kLanes + lane];
          size = std::max(size, std::fabs(expected));
          if (!(std::fabs(actual - expected) <= error)) error = std::fabs(actual - expected);  // NaN stays
        }
      }
    }
  }
  return error / size;
}

TEST(Winograd, OutputsAreAccurateAndLanesIndependentAtRealSizes) {
  std::mt19937 random(21);
  std::set<std::int64_t> sides;  // sides of tiles
  double worst = 0, sum = 0;
  const std::vector<Layer> all = layers();
  for (const Layer& each : all) {
    const Graph graph = test::with_constants(each.op, each.extents, random);
    const Node& node = graph[graph.outputs[0]];
    const std::string what = test::describe(each.op);
    const cpu::Product product = cpu::make_winograd_conv(graph, node, {});
    ASSERT_TRUE(product.kernel) << what;
    const auto tiles = [&](std::int64_t side) { return (node.shape[2] + side - 1) / side * ((node.shape[3] + side - 1) / side); };
    sides.insert(product.rows == tiles(4) ? 4 : 2);
    ASSERT_TRUE(product.rows == tiles(4) || product.rows == tiles(2)) << what;
    const test::Values inputs = test::random_inputs(graph, {kLanes, 1}, random);
    const double error = relative_error(graph, inputs[0], test::run(*compile_cpu(graph), graph, {kLanes, 1}, inputs)[0]);
    EXPECT_LT(error, 1e-5) << what;
    worst = std::max(worst, error);
    sum += error;
    test::expect_same_bits(test::kCompilers[0], graph, {kLanes, 1}, inputs, {1, 3, 16, 27, 48}, what);
  }
  EXPECT_EQ(sides, (std::set<std::int64_t>{2, 4}));
  EXPECT_LT(sum / static_cast<double>(all.size()), 2e-6);
  RecordProperty("worst_error", std::to_string(worst * 1e9) + "e-9");
  RecordProperty("mean_error", std::to_string(sum / static_cast<double>(all.size()) * 1e9) + "e-9");
}

TEST(Winograd, OtherConvolutionsHaveNoKernel) {
  std::mt19937 random(22);
  Window strided = test::square(8, 3, 2, 1), dilated = test::square(8, 3, 1, 1), grouped = test::square(8, 3, 1, 1, 2);
  dilated.dilation = {2, 1};
  for (const Layer& each :
       {test::convolution(64, 64, strided), test::convolution(64, 64, dilated), test::convolution(64, 64, grouped),
        test::convolution(64, 64, test::square(8, 5, 1, 2)), test::convolution(64, 64, test::square(1, 3, 1, 1)),
        test::convolution(1, 64, test::square(8, 3, 1, 1))}) {
    const Graph graph = test::with_constants(each.op, each.extents, random);
    EXPECT_FALSE(cpu::make_winograd_conv(graph, graph[graph.outputs[0]], {}).kernel) << test::describe(each.op);
  }
}

// A maximum over equal values chooses the first one, as in the reference; Winograd's rounding would choose at random.
TEST(Winograd, MaximaOfConstantImagesAreChosenAsInTheReference) {
  std::mt19937 random(19);
  Graph g;
  const ValueId x = append_input(g, {1, 64, 12, 12}, Extent::example, "x");
  const ValueId filter = append_constant(g, test::random_tensor({64, 64, 3, 3}, random), "w");
  const ValueId y = append(g, Op::conv, {x, filter}, test::square(12, 3, 1, 1));
  const Window pool = test::square(12, 2, 2, 0);
  const ValueId cotangent = append_input(g, {1, 64, 6, 6}, Extent::seeded, "c");
  g.outputs = {append(g, Op::max_scatter, {y, cotangent}, pool)};
  Tensor constant({1, 64, 12, 12});
  for (std::int64_t i = 0; i < constant.size(); ++i) constant.data[i] = 0.1F + 0.01F * static_cast<float>(i / 144);
  const std::vector<Tensor> inputs{constant, test::random_tensor({1, 64, 6, 6}, random)};
  const auto chosen = test::run_one(*compile_cpu(g), g, inputs)[0].data,
             expected = test::run_one(*compile_reference(g), g, inputs)[0].data;
  EXPECT_EQ(chosen, expected);
}

}  // namespace
}  // namespace probust
