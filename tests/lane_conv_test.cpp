// SPDX-License-Identifier: MIT
// Convolutions whose filters differ between lanes and have one channel per group, as blurs have: compares kernels with the
// definition, and tests the blur that such a convolution and existing operators form.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "probust/autodiff/vjp.h"
#include "probust/ops/build.h"
#include "support/lanes.h"
#include "support/random_layers.h"

namespace probust {
namespace {

// Cases with one filter for all channels (stored as images) and with one filter per channel.
test::OpCase single_channels(Op op, std::mt19937& random) {
  Window window = test::random_window(random, static_cast<int>(test::between(random, 1, 2)));
  window.groups = test::pick(random, {1, 1, 3});
  const auto with = [](Shape shape, const Shape& spatial) {
    shape.insert(shape.end(), spatial.begin(), spatial.end());
    return shape;
  };
  const std::int64_t images = test::pick(random, {1, 3});
  const Shape image = with({images, window.groups}, window.image), output = with({images, window.groups}, window.output()),
              filter = with({window.groups, 1}, window.kernel);
  if (op == Op::conv) return {op, {image, filter}, window};
  if (op == Op::conv_transpose) return {op, {output, filter}, window};
  return {op, {image, output}, window};
}

TEST(LaneConv, KernelsAgreeWithTheDefinitionForAllExtentsAndLanes) {
  std::mt19937 random(21);
  for (int i = 0; i < 40; ++i) {
    for (const Op op : {Op::conv, Op::conv_transpose, Op::conv_filter_grad}) {
      const test::OpCase row = single_channels(op, random);
      for (const auto& extents : test::extent_choices(2)) {
        const Graph graph = test::with_constants(row, extents, random);
        const Batch batch{test::pick(random, {1, 5, 16, 19, 35}), test::pick(random, {1, 2})};
        const test::Values inputs = test::random_inputs(graph, batch, random);
        const test::Values expected = test::run(*compile_reference(graph), graph, batch, inputs);
        const test::Values actual = test::run(*compile_cpu(graph), graph, batch, inputs);
        for (std::size_t e = 0; e < expected[0].size(); ++e)
          ASSERT_NEAR(actual[0][e], expected[0][e], 1e-5 * (1 + std::fabs(expected[0][e]))) << test::describe(row) << e;
      }
    }
  }
}

TEST(LaneConv, LanesHaveTheSameBitsInEveryBatch) {
  std::mt19937 random(22);
  for (int i = 0; i < 10; ++i) {
    for (const Op op : {Op::conv, Op::conv_transpose, Op::conv_filter_grad}) {
      const test::OpCase row = single_channels(op, random);
      for (const auto& extents : test::extent_choices(2)) {
        const Graph graph = test::with_constants(row, extents, random);
        const Batch batch{19, 2};
        test::Values inputs = test::random_inputs(graph, batch, random);
        for (float& x : inputs.back()) x = random() % 3 == 0 ? x : 0;  // taps at which the filters of some lanes are zero
        test::expect_same_bits(test::kCompilers[0], graph, batch, inputs, {1, 3, 16, 18}, test::describe(row));
      }
    }
  }
}

// A row of 5 pixels per lane, and a filter of 5 taps.
constexpr std::int64_t kPixels = 5;

std::vector<float> filtered(const test::Values& inputs, std::int64_t lanes) {
  Graph graph;
  const Window window{{kPixels}, {5}, {1}, {1}, {2}, {2}};
  const ValueId x = append_input(graph, {1, 1, kPixels}, Extent::example, "x");
  const ValueId w = append_input(graph, {1, 1, 5}, Extent::example, "w");
  graph.outputs = {append(graph, Op::conv, {x, w}, window)};
  return test::run(*compile_cpu(graph), graph, {lanes, 1}, inputs)[0];
}

TEST(LaneConv, FiltersOfOneTapGiveTheImageExactly) {
  std::mt19937 random(23);
  for (const std::int64_t lanes : {1, 16, 21}) {
    test::Values inputs{test::random_tensor({kPixels, lanes}, random).data, std::vector<float>(5 * lanes)};
    std::fill_n(inputs[1].begin() + 2 * lanes, lanes, 1.0F);
    EXPECT_EQ(filtered(inputs, lanes), inputs[0]);
  }
}

// As in the definition, zero times infinity is NaN, even at taps that could be skipped, and in all lanes of a group alike.
TEST(LaneConv, ZeroTimesInfinityIsNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t lanes : {1, 16, 21}) {
    test::Values inputs{std::vector<float>(kPixels * lanes, 1.0F), std::vector<float>(5 * lanes)};
    std::fill_n(inputs[1].begin() + 2 * lanes, lanes, 1.0F);
    inputs[0][0 * lanes + lanes / 2] = infinity;
    const std::vector<float> y = filtered(inputs, lanes);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      for (std::int64_t pixel = 0; pixel < kPixels; ++pixel) {
        const float value = y[pixel * lanes + lane];
        if (lane != lanes / 2 || pixel > 2) {
          EXPECT_EQ(value, 1) << lane << " " << pixel;
        } else if (pixel > 0) {
          EXPECT_TRUE(std::isnan(value)) << lane << " " << pixel;
        } else {
          EXPECT_EQ(value, infinity);
        }
      }
    }
  }
}

// x [C, H, W] blurred along both axes. The border pixels are repeated; the weights are a normal density of deviation |sigma|,
// normalised.
Graph blur(const Shape& image, std::int64_t radius) {
  Graph g;
  const ValueId x = append_input(g, image, Extent::example, "x"), sigma = append_input(g, {1}, Extent::example, "sigma");
  Tensor squares({2 * radius + 1});
  for (std::int64_t o = -radius; o <= radius; ++o) squares.data[o + radius] = static_cast<float>(o * o) / 2;
  const ValueId variance = build::add(g, build::multiply(g, sigma, sigma), build::constant(g, 1e-30F));
  const ValueId exponents = build::negate(g, build::divide(g, append_constant(g, squares), variance));
  const ValueId density = append(g, Op::exp, {exponents});
  const ValueId weights = build::divide(g, density, build::reduce_sum(g, density, {0}));
  ValueId y = build::reshape(g, x, {image[0], 1, image[1], image[2]});
  for (const std::int64_t axis : {0, 1}) {
    const std::int64_t extent = image[axis + 1];
    GatherAttributes repeated{axis + 2, {}, extent};
    for (std::int64_t i = -radius; i < extent + radius; ++i)
      repeated.indices.push_back(std::clamp<std::int64_t>(i, 0, extent - 1));
    Window window{{image[1], image[2]}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
    window.image[axis] += 2 * radius;
    window.kernel[axis] = 2 * radius + 1;
    const ValueId filter = build::reshape(g, weights, {1, 1, window.kernel[0], window.kernel[1]});
    y = append(g, Op::conv, {append(g, Op::gather, {y}, repeated), filter}, window);
  }
  g.outputs = {build::reshape(g, y, image)};
  return g;
}

TEST(Blur, WithoutDeviationItIsTheImageExactly) {
  std::mt19937 random(24);
  for (const Shape& image : {Shape{3, 5, 7}, Shape{1, 1, 1}, Shape{2, 1, 9}}) {
    const Graph graph = blur(image, 4);
    const Tensor x = test::random_tensor(image, random);
    EXPECT_EQ(test::run_one(*compile_cpu(graph), graph, {x, Tensor({1}, {0})})[0].data, x.data);
  }
}

TEST(Blur, OfAConstantImageIsTheImage) {
  const Graph graph = blur({2, 6, 5}, 3);
  Tensor x({2, 6, 5});
  std::fill(x.data.begin(), x.data.end(), 0.7F);
  for (const float sigma : {0.3F, -1.0F, 10.0F}) {
    const Tensor blurred = test::run_one(*compile_cpu(graph), graph, {x, Tensor({1}, {sigma})})[0];
    for (const float y : blurred.data) EXPECT_NEAR(y, 0.7, 1e-6);
  }
}

TEST(Blur, ItsDerivativesAgreeWithFiniteDifferences) {
  std::mt19937 random(25);
  const Shape image{2, 5, 6};
  const Graph graph = blur(image, 3);
  const Tensor x = test::random_tensor(image, random), c = test::random_tensor(image, random);
  Vjp sweep = vjp(graph, graph.outputs, graph.inputs());
  sweep.graph.outputs = sweep.gradients;
  const auto value = [&](const Tensor& at, float sigma) {
    const Tensor y = test::evaluate(graph, {at, Tensor({1}, {sigma})})[0];
    return std::inner_product(y.data.begin(), y.data.end(), c.data.begin(), 0.0);
  };
  for (const float sigma : {0.8F, -1.3F}) {
    const std::vector<Tensor> gradients = test::run_one(*compile_cpu(sweep.graph), sweep.graph, {x, Tensor({1}, {sigma}), c});
    const float step = 1e-2F;
    EXPECT_NEAR(gradients[1].data[0], (value(x, sigma + step) - value(x, sigma - step)) / (2 * step), 2e-3);
    for (std::size_t e = 0; e < x.data.size(); e += 7) {
      Tensor above = x, below = x;
      above.data[e] += step;
      below.data[e] -= step;
      EXPECT_NEAR(gradients[0].data[e], (value(above, sigma) - value(below, sigma)) / (2 * step), 1e-3) << e;
    }
  }
}

}  // namespace
}  // namespace probust
