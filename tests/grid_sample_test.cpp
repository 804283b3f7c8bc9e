// SPDX-License-Identifier: MIT
// grid_sample compared with a second implementation: a sum over all pixels, including copies beyond the border, of the image
// times the interpolating kernel at their distance.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "probust/base/error.h"
#include "probust/onnx/import.h"
#include "probust/ops/print.h"
#include "support/lanes.h"
#include "support/onnx_builder.h"

namespace probust {
namespace {

using enum GridAttributes::Interpolation;
using enum GridAttributes::Padding;
using test::Values;

constexpr GridAttributes::Interpolation kInterpolations[] = {nearest, linear, cubic};
constexpr GridAttributes::Padding kPaddings[] = {zeros, border, reflect_edges, reflect_centres};

double kernel(const GridAttributes& grid, double distance) {
  const double x = std::fabs(distance), a = grid.cubic;
  if (grid.interpolation == nearest) return x < 0.5 ? 1 : 0;
  if (grid.interpolation == linear) return std::max(0.0, 1 - x);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

// The pixel that continues an axis of `extent` pixels beyond its border; -1 for a zero.
std::int64_t continued(const GridAttributes& grid, std::int64_t pixel, std::int64_t extent) {
  const std::int64_t twice = grid.padding == reflect_edges ? 1 : 0;
  while (pixel < 0 || pixel >= extent) {
    if (grid.padding == zeros) return -1;
    if (grid.padding == border || extent + twice == 1) {
      pixel = pixel < 0 ? 0 : extent - 1;
    } else {
      pixel = pixel < 0 ? -pixel - twice : 2 * (extent - 1) + twice - pixel;
    }
  }
  return pixel;
}

double sampled(const GridAttributes& grid, const float* image, double row, double column) {
  constexpr std::int64_t kBeyond = 30;
  double sum = 0;
  for (std::int64_t i = -kBeyond; i < grid.rows + kBeyond; ++i) {
    const double weight = kernel(grid, row - static_cast<double>(i));
    const std::int64_t r = continued(grid, i, grid.rows);
    if (weight == 0 || r < 0) continue;
    for (std::int64_t j = -kBeyond; j < grid.columns + kBeyond; ++j) {
      const std::int64_t c = continued(grid, j, grid.columns);
      if (c >= 0) sum += weight * kernel(grid, column - static_cast<double>(j)) * image[r * grid.columns + c];
    }
  }
  return sum;
}

Graph graph_of(Op op, const GridAttributes& grid, const Shape& values, const Shape& at, Extent extent = Extent::example,
               Extent positions = Extent::example) {
  Graph graph;
  const ValueId a = append_input(graph, values, extent, "values"), b = append_input(graph, at, positions, "positions");
  graph.outputs = {append(graph, op, {a, b}, grid)};
  return graph;
}

Tensor sample_one(const GridAttributes& grid, const Tensor& image, const Tensor& at) {
  const Graph graph = graph_of(Op::grid_sample, grid, image.shape, at.shape);
  return test::run_one(*compile_cpu(graph), graph, {image, at})[0];
}

TEST(GridSample, IsASumOverAllPixelsOfTheContinuedImage) {
  std::mt19937 random(1);
  for (const auto& [rows, columns] : {std::pair{5, 7}, std::pair{1, 4}, std::pair{2, 1}}) {
    const Tensor image = test::random_tensor({1, 2, rows, columns}, random), at = test::random_tensor({1, 2, 40}, random, -9, 13);
    for (const auto interpolation : kInterpolations) {
      for (const auto padding : kPaddings) {
        const GridAttributes grid{rows, columns, interpolation, padding, -0.6F};
        const Graph graph = graph_of(Op::grid_sample, grid, image.shape, at.shape);
        const Tensor y = test::evaluate(graph, {image, at})[0], fast = test::run_one(*compile_cpu(graph), graph, {image, at})[0];
        for (std::int64_t e = 0; e < y.size(); ++e) {
          const std::int64_t q = e % 40, channel = e / 40;
          const double expected = sampled(grid, image.data.data() + channel * rows * columns, at.data[q], at.data[40 + q]);
          ASSERT_NEAR(y.data[e], expected, 2e-6) << to_text(graph) << q;
          ASSERT_NEAR(fast.data[e], expected, 3e-6) << to_text(graph) << q;
        }
      }
    }
  }
}

TEST(GridSample, AtPixelsIsTheImage) {
  std::mt19937 random(2);
  const Tensor image = test::random_tensor({1, 3, 4, 6}, random);
  Tensor at({1, 2, 4, 6});
  for (std::int64_t e = 0; e < 24; ++e) {
    at.data[e] = static_cast<float>(e / 6);
    at.data[24 + e] = static_cast<float>(e % 6);
  }
  for (const auto interpolation : kInterpolations) {
    for (const auto padding : kPaddings) EXPECT_EQ(sample_one({4, 6, interpolation, padding}, image, at).data, image.data);
  }
}

TEST(GridSample, NearestRoundsHalvesToEven) {
  const Tensor image({1, 1, 1, 4}, {1, 2, 3, 4}), at({1, 2, 4}, {0, 0, 0, 0, 0.5F, 1.5F, 2.5F, -0.5F});
  EXPECT_EQ(sample_one({1, 4, nearest, zeros}, image, at).data, (std::vector<float>{1, 3, 3, 1}));
}

TEST(GridSample, FarPositionsReadWhatIsThere) {
  const Tensor image({1, 1, 1, 3}, {1, 2, 4}), at({1, 2, 4}, {0, 0, 0, 0, 1e6F, -1e6F, 3e9F, -1e30F});
  for (const auto interpolation : kInterpolations) {
    EXPECT_EQ(sample_one({1, 3, interpolation, zeros}, image, at).data, (std::vector<float>{0, 0, 0, 0}));
    EXPECT_EQ(sample_one({1, 3, interpolation, border}, image, at).data, (std::vector<float>{4, 1, 4, 1}));
    const std::vector<float> reflected = sample_one({1, 3, interpolation, reflect_edges}, image, at).data;
    EXPECT_EQ(reflected[0], 2);  // 1e6 = 6 * 166666 + 4
    for (const float value : reflected) EXPECT_TRUE(value == 1 || value == 2 || value == 4) << value;
  }
}

TEST(GridSample, PositionsThatAreNotFiniteGiveNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor image({1, 1, 2, 2}, {1, 2, 3, 4});
  for (const float bad : {NAN, infinity, -infinity}) {
    const Tensor at({1, 2, 3}, {0, bad, 1, 0, 0, bad});
    for (const auto interpolation : kInterpolations) {
      for (const auto padding : kPaddings) {
        const GridAttributes grid{2, 2, interpolation, padding};
        for (const Extent positions : {Extent::constant, Extent::example}) {
          Graph graph;
          const ValueId a = append_input(graph, image.shape, Extent::example, "image");
          std::vector<Tensor> inputs{image};
          ValueId b = kNoValue;
          if (positions == Extent::constant) {
            b = append_constant(graph, at);
          } else {
            b = append_input(graph, at.shape, positions, "positions");
            inputs.push_back(at);
          }
          graph.outputs = {append(graph, Op::grid_sample, {a, b}, grid)};
          for (const auto& program : {compile_reference(graph), compile_cpu(graph)}) {
            const Tensor y = test::run_one(*program, graph, inputs)[0];
            EXPECT_EQ(y.data[0], 1);
            EXPECT_TRUE(std::isnan(y.data[1]) && std::isnan(y.data[2])) << to_text(graph);
          }
        }
      }
    }
  }
}

// Sizes for which images are processed in several parts, and all extents: values agree with the definition, and bits do not
// depend on the number of lanes.
TEST(GridSample, KernelsAgreeForManyChannelsAndLanes) {
  std::mt19937 random(3);
  const Shape large{2, 3, 40, 30}, small{1, 7, 6, 5}, larger{1, 2, 95, 90};  // of the last, one channel at a time
  for (const auto& [image, positions] :
       {std::pair{large, std::int64_t{25}}, std::pair{small, std::int64_t{40}}, std::pair{larger, std::int64_t{5}}}) {
    const Shape at{image[0], 2, positions}, values{image[0], image[1], positions};
    for (const auto interpolation : kInterpolations) {
      const GridAttributes grid{image[2], image[3], interpolation, reflect_edges};
      for (const Op op : {Op::grid_sample, Op::grid_sample_transpose}) {
        const test::OpCase row{op, {op == Op::grid_sample ? image : values, at}, grid, -3, 9};
        for (const auto& extents : test::extent_choices(2)) {
          const Graph graph = test::with_constants(row, extents, random);
          const Batch batch{19, 2};
          const Values inputs = test::random_inputs(graph, batch, random, row.low, row.high);
          const Values expected = test::run(*compile_reference(graph), graph, batch, inputs);
          const Values actual = test::run(*compile_cpu(graph), graph, batch, inputs);
          for (std::size_t e = 0; e < expected[0].size(); ++e)
            ASSERT_NEAR(actual[0][e], expected[0][e], 2e-5 * (1 + std::fabs(expected[0][e]))) << to_text(graph) << e;
          test::expect_same_bits(test::kCompilers[0], graph, batch, inputs, {1, 3, 16, 18}, to_text(graph));
        }
      }
    }
  }
}

// If the images of all lanes in a group have equal bits, the kernel reads only one of them.
TEST(GridSample, BitsDoNotDependOnWhetherLanesShareAnImage) {
  std::mt19937 random(4);
  // One channel, a group of four channels, and both.
  for (const std::int64_t channels : {1, 3, 5}) {
    const std::int64_t lanes = 16, pixels = channels * 5 * 7;
    test::Values shared{std::vector<float>(pixels * lanes), test::random_tensor({2 * 33, lanes}, random, -3, 9).data};
    for (std::int64_t e = 0; e < pixels; ++e) {
      const float value = test::random_tensor({1}, random).data[0];
      std::fill_n(shared[0].begin() + e * lanes, lanes, e % 3 == 0 ? 0.0F : value);
    }
    test::Values separate = shared;
    for (std::int64_t e = 0; e < pixels; ++e) separate[0][e * lanes + lanes - 1] += 0.5F;
    for (const auto interpolation : kInterpolations) {
      for (const auto padding : kPaddings) {
        const Graph graph = graph_of(Op::grid_sample, {5, 7, interpolation, padding}, {1, channels, 5, 7}, {1, 2, 33});
        const auto program = compile_cpu(graph);
        const std::vector<float> one = test::run(*program, graph, {lanes, 1}, shared)[0];
        const std::vector<float> several = test::run(*program, graph, {lanes, 1}, separate)[0];
        EXPECT_EQ(test::take_examples(one, lanes, 0, lanes - 1), test::take_examples(several, lanes, 0, lanes - 1))
            << to_text(graph);
        test::expect_same_bits(test::kCompilers[0], graph, {lanes, 1}, separate, {1}, to_text(graph));
      }
    }
  }
}

TEST(GridSample, ConstantImagesAreConstantBetweenAndBeyondTheirPixels) {
  std::mt19937 random(5);
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 6}, {9, 2}}) {
    const Tensor at = test::random_tensor({1, 2, 50}, random, -20, 20);
    Tensor image({1, 1, rows, columns});
    std::fill(image.data.begin(), image.data.end(), 0.7F);
    for (const auto interpolation : kInterpolations) {
      for (const auto padding : {border, reflect_edges, reflect_centres}) {
        const Graph graph = graph_of(Op::grid_sample, {rows, columns, interpolation, padding}, image.shape, at.shape);
        const Tensor values = test::run_one(*compile_cpu(graph), graph, {image, at})[0];
        for (const float y : values.data) EXPECT_NEAR(y, 0.7, 1e-6) << to_text(graph);
      }
    }
  }
}

// If positions in one lane are huge or not finite, neither other lanes nor the memory around the image may change.
TEST(GridSample, ExtremePositionsInSomeLanes) {
  std::mt19937 random(6);
  const float infinity = std::numeric_limits<float>::infinity();
  const std::int64_t lanes = 19;
  for (const Op op : {Op::grid_sample, Op::grid_sample_transpose}) {
    for (const auto interpolation : kInterpolations) {
      for (const auto padding : kPaddings) {
        const Shape values = op == Op::grid_sample ? Shape{1, 2, 4, 3} : Shape{1, 2, 6};
        const Graph graph = graph_of(op, {4, 3, interpolation, padding}, values, {1, 2, 6});
        test::Values inputs = test::random_inputs(graph, {lanes, 1}, random, -2, 5);
        const float extremes[] = {1e30F, -1e30F, 3e9F, NAN, infinity, -infinity};
        for (std::int64_t q = 0; q < 6; ++q) inputs[1][(q + q % 2 * 6) * lanes + 3 * q] = extremes[q];
        const std::vector<float> actual = test::run(*compile_cpu(graph), graph, {lanes, 1}, inputs)[0],
                                 expected = test::run(*compile_reference(graph), graph, {lanes, 1}, inputs)[0];
        for (std::size_t e = 0; e < expected.size(); ++e) {
          EXPECT_EQ(std::isnan(actual[e]), std::isnan(expected[e])) << to_text(graph) << e;
          if (std::isnan(expected[e])) continue;
          EXPECT_NEAR(actual[e], expected[e], 1e-5 * (1 + std::fabs(expected[e]))) << to_text(graph) << e;
        }
      }
    }
  }
}

TEST(GridSample, MisfittingOperandsAreRefused) {
  Graph graph;
  const ValueId image = append_input(graph, {1, 2, 4, 5}, Extent::example, "image");
  const ValueId at = append_input(graph, {1, 2, 3}, Extent::example, "positions");
  EXPECT_NO_THROW(append(graph, Op::grid_sample, {image, at}, GridAttributes{4, 5}));
  EXPECT_THROW(append(graph, Op::grid_sample, {image, at}, GridAttributes{5, 4}), Error);
  EXPECT_THROW(append(graph, Op::grid_sample, {image, image}, GridAttributes{3, 5}), Error);
  EXPECT_THROW(append(graph, Op::grid_sample_transpose, {image, at}, GridAttributes{4, 5}), Error);
  EXPECT_THROW(append(graph, Op::grid_sample_transpose, {at, at}, GridAttributes{0, 5}), Error);
}

TEST(GridSample, VolumesAreRefused) {
  test::OnnxBuilder builder(16);
  builder.input("x", {1, 1, 2, 2, 2}).weight("grid", Tensor({1, 1, 1, 1, 3}));
  builder.node("GridSample", {"x", "grid"}, {"y"}).output("y");
  const std::string bytes = builder.bytes();
  const auto model = import_onnx(std::as_bytes(std::span(bytes)));
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message().find("cannot sample a volume"), std::string::npos) << model.error().message();
}

}  // namespace
}  // namespace probust
