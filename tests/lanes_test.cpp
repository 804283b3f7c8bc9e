// SPDX-License-Identifier: MIT
// With every algorithm, a lane of a product has the same bits wherever it is and however many other lanes there are; and the
// algorithms agree.
#include "support/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/random_layers.h"

namespace probust {
namespace {

using test::Layer;

// Runs the layer with each compiler, and checks that lanes are independent and that results agree.
void expect_independent(const Layer& layer, const Batch& batch, std::initializer_list<std::int64_t> counts,
                        std::mt19937& random) {
  const Graph graph = test::with_constants(layer.op, layer.extents, random);
  const test::Values inputs = test::random_inputs(graph, batch, random);
  for (const test::Compiler& compiler : test::kCompilers)
    test::expect_same_bits(compiler, graph, batch, inputs, counts, test::describe(layer.op));
  const std::vector<float> expected = test::run(*compile_eigen(graph), graph, batch, inputs)[0],
                           actual = test::run(*compile_cpu(graph), graph, batch, inputs)[0];
  float size = 1, distance = 0;
  for (const float value : expected) size = std::max(size, std::fabs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!(std::fabs(actual[i] - expected[i]) <= distance)) distance = std::fabs(actual[i] - expected[i]);  // NaN stays
  }
  ASSERT_LT(distance, 1e-5F * size) << test::describe(layer.op);
}

Layer on_a_line(std::int64_t channels, std::int64_t filters, const Window& window) {
  return {{Op::conv, {{1, channels, window.image[0]}, {filters, channels / window.groups, window.kernel[0]}}, window},
          {Extent::example, Extent::constant}};
}

TEST(Lanes, OfConvolutionsAreIndependent) {
  std::mt19937 random(31);
  const auto window = [](Shape image, Shape kernel, Shape stride, Shape dilation, Shape low, Shape high,
                         std::int64_t groups = 1) {
    return Window{
        std::move(image), std::move(kernel), std::move(stride), std::move(dilation), std::move(low), std::move(high), groups};
  };
  std::vector<Layer> layers{
      test::convolution(3, 64, test::square(17, 7, 2, 3)),
      test::convolution(64, 65, test::square(9, 3, 2, 1)),
      test::convolution(48, 31, window({11, 7}, {3, 5}, {3, 2}, {1, 2}, {1, 4}, {2, 3})),
      test::convolution(33, 10, window({10, 10}, {3, 3}, {1, 1}, {2, 3}, {2, 3}, {2, 3})),
      test::convolution(2, 3, test::square(7, 3, 1, 1)),
      test::convolution(32, 64, test::square(7, 3, 1, 1, 4)),
      test::convolution(40, 40, test::square(9, 5, 1, 2, 40)),
      test::convolution(40, 80, test::square(9, 3, 2, 1, 40)),
      test::convolution(192, 47, test::square(5, 1, 1, 0)),
      test::convolution(64, 16, test::square(7, 1, 3, 0)),
      test::convolution(3, 24, test::square(16, 8, 8, 0)),
      on_a_line(12, 20, window({31}, {5}, {1}, {1}, {2}, {2})),
      on_a_line(12, 20, window({31}, {3}, {3}, {2}, {0}, {4})),
      on_a_line(15, 15, window({31}, {9}, {2}, {1}, {4}, {4}, 15)),
  };
  for (std::size_t i = 0, count = layers.size(); i < count; ++i) {
    if (layers[i].op.operands[0].size() == 4) layers.push_back(test::transposed(layers[i]));
  }
  for (const Layer& layer : layers) expect_independent(layer, {test::kManyLanes, 1}, {1, 3, 16, 27, 48}, random);
  for (int i = 0; i < 16; ++i) expect_independent(test::random_convolution(random), {49, 1}, {1, 15, 16, 33}, random);
}

// More rows than are summed at once, more terms than a strip holds, and widths near that of a strip.
TEST(Lanes, OfProductsWithRowsOfTokensAreIndependent) {
  std::mt19937 random(32);
  const auto product = [](Shape a, Shape b, bool transpose_a = false, bool transpose_b = false) {
    return Layer{{Op::matmul, {std::move(a), std::move(b)}, MatmulAttributes{transpose_a, transpose_b}},
                 {Extent::example, Extent::constant}};
  };
  for (const Layer& layer :
       {product({197, 192}, {192, 64}), product({197, 64}, {49, 64}, false, true), product({9, 3072}, {3072, 96}),
        product({3, 193}, {193, 3072}), product({2, 3072}, {3072, 1}), product({50, 1}, {1, 17}),
        product({27, 50}, {27, 48}, true), product({385, 5}, {13, 385}, true, true), product({3, 17, 96}, {96, 100}),
        product({2, 40, 9}, {40, 33}, true), product({1, 768}, {768, 100}), product({1, 3072}, {3, 3072}, false, true)})
    expect_independent(layer, {test::kManyLanes, 1}, {1, 3, 16, 27, 48}, random);
  for (int i = 0; i < 20; ++i) {
    Layer layer = test::random_product(random);
    if (layer.extents[0] != Extent::constant && layer.extents[1] != Extent::constant) continue;
    expect_independent(layer, {49, 1}, {1, 15, 16, 33}, random);
  }
}

}  // namespace
}  // namespace probust
