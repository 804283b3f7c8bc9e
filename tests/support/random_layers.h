// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "probust/exec/programs/program.h"
#include "probust/ops/op.h"
#include "support/op_cases.h"

// Single layers with the sizes of real networks, and random layers.
namespace probust::test {

/// One operator, whose operands are constant or vary according to `extents`.
struct Layer {
  OpCase op;
  std::vector<Extent> extents;
};

inline constexpr double kMostTerms = 3e6;  // per example; reference evaluation is slow

inline double terms(const Layer& layer) {
  const OpDefinition& op = definition(layer.op.op);
  const std::vector<Shape>& shapes = layer.op.operands;
  return op.flops(layer.op.attributes, shapes, op.infer(layer.op.attributes, shapes)) / 2;
}

inline std::int64_t pick(std::mt19937& random, std::initializer_list<std::int64_t> from) {
  return from.begin()[random() % from.size()];
}

inline std::int64_t between(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 1));
}

inline Window random_window(std::mt19937& random, int axes) {
  Window window;
  for (int i = 0; i < axes; ++i) {
    window.image.push_back(between(random, 1, 12));
    window.stride.push_back(between(random, 1, 3));
    window.dilation.push_back(between(random, 1, 2));
    window.kernel.push_back(pick(random, {1, 1, 2, 3, 3, 5, 7}));
    const std::int64_t reach = window.dilation[i] * (window.kernel[i] - 1);
    window.pad_low.push_back(between(random, 0, reach));
    window.pad_high.push_back(std::max(between(random, 0, reach), reach + 1 - window.image[i] - window.pad_low[i]));
  }
  return window;
}

// A convolution or transposed convolution of an image with 1 or 2 axes; one in three has groups.
inline Layer random_convolution(std::mt19937& random) {
  for (;;) {
    Window window = random_window(random, static_cast<int>(between(random, 1, 2)));
    window.groups = pick(random, {1, 1, 1, 1, 2, 3, 32});
    const std::int64_t in = pick(random, {1, 2, 3, 7, 16, 49, 64, 512}),
                       out = pick(random, {1, 3, 10, 47, 48, 49, 64, 512, 2048});
    const std::int64_t channels = in * window.groups, filters = window.groups > 2 ? window.groups : out * window.groups;
    Shape filter{filters, in};
    filter.insert(filter.end(), window.kernel.begin(), window.kernel.end());
    const bool transposed = random() % 2 == 0;
    Shape image{1, transposed ? filters : channels};
    const Shape spatial = transposed ? window.output() : window.image;
    image.insert(image.end(), spatial.begin(), spatial.end());
    Layer layer{{transposed ? Op::conv_transpose : Op::conv, {image, filter}, window},
                {random() % 2 == 0 ? Extent::example : Extent::seeded, Extent::constant}};
    if (terms(layer) <= kMostTerms) return layer;
  }
}

// A convolution, a transposed convolution or the gradient of a filter, for several images; any of the operands may vary.
inline Layer random_training_convolution(std::mt19937& random) {
  for (;;) {
    Window window = random_window(random, static_cast<int>(between(random, 1, 2)));
    window.groups = pick(random, {1, 1, 1, 2, 3});
    const std::int64_t images = pick(random, {1, 2, 5, 17}), channels = pick(random, {1, 3, 10, 49}) * window.groups,
                       filters = pick(random, {1, 4, 10, 20, 47, 49}) * window.groups;
    const auto with = [](Shape shape, const Shape& spatial) {
      shape.insert(shape.end(), spatial.begin(), spatial.end());
      return shape;
    };
    const Shape image = with({images, channels}, window.image), cotangent = with({images, filters}, window.output()),
                filter = with({filters, channels / window.groups}, window.kernel);
    const Op op = std::array{Op::conv, Op::conv_transpose, Op::conv_filter_grad}[random() % 3];
    const std::vector<Shape> operands = op == Op::conv             ? std::vector{image, filter}
                                        : op == Op::conv_transpose ? std::vector{cotangent, filter}
                                                                   : std::vector{image, cotangent};
    const auto extent = [&] { return std::array{Extent::constant, Extent::example, Extent::seeded}[random() % 3]; };
    Layer layer{{op, operands, window}, {extent(), extent()}};
    if (layer.extents[0] == Extent::constant && layer.extents[1] == Extent::constant) continue;
    if (terms(layer) <= kMostTerms) return layer;
  }
}

// A product with a constant on either side, or a product of two varying values.
inline Layer random_product(std::mt19937& random) {
  for (;;) {
    const std::int64_t m = between(random, 1, 30), k = pick(random, {1, 5, 64, 127, 128, 129, 768, 1025, 4608}),
                       n = pick(random, {1, 4, 10, 47, 48, 49, 100, 1000, 2048});
    const MatmulAttributes t{random() % 2 == 0, random() % 2 == 0};
    Shape a = t.transpose_a ? Shape{k, m} : Shape{m, k}, b = t.transpose_b ? Shape{n, k} : Shape{k, n};
    const int constant = static_cast<int>(random() % 3);
    if (random() % 3 == 0) a.insert(a.begin(), between(random, 1, 3));
    std::vector<Extent> extents;
    for (int operand = 0; operand < 2; ++operand) extents.push_back(random() % 2 == 0 ? Extent::example : Extent::seeded);
    if (constant < 2) extents[constant] = Extent::constant;
    Layer layer{{Op::matmul, {a, b}, t}, extents};
    if (terms(layer) <= kMostTerms) return layer;
  }
}

inline Batch random_batch(std::mt19937& random) {
  return {pick(random, {1, 2, 3, 5, 7, 11, 16, 31, 47, 48, 49, 64, 97}), pick(random, {1, 1, 2, 9})};
}

inline Window square(std::int64_t image, std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t groups = 1) {
  return {{image, image}, {kernel, kernel}, {stride, stride}, {1, 1}, {pad, pad}, {pad, pad}, groups};
}

inline Layer convolution(std::int64_t channels, std::int64_t filters, const Window& window, Extent extent = Extent::example) {
  const Shape image{1, channels, window.image[0], window.image[1]},
      filter{filters, channels / window.groups, window.kernel[0], window.kernel[1]};
  return {{Op::conv, {image, filter}, window}, {extent, Extent::constant}};
}

inline Layer transposed(const Layer& layer) {
  const auto& window = std::get<Window>(layer.op.attributes);
  const Shape output = window.output(), &filter = layer.op.operands[1];
  return {{Op::conv_transpose, {{1, filter[0], output[0], output[1]}, filter}, window}, {Extent::seeded, Extent::constant}};
}

/// A few layers of every kind.
inline std::vector<Layer> layers_of_real_networks() {
  return {
      convolution(16, 256, square(16, 7, 2, 0)),       // as a first layer on many channels
      convolution(64, 64, square(4, 3, 1, 1)),         // ResNet
      convolution(512, 2048, square(1, 1, 1, 0)),      // ResNet's bottleneck
      convolution(480, 480, square(7, 5, 2, 2, 480)),  // EfficientNet
      convolution(96, 96, square(14, 7, 1, 3, 96)),    // ConvNeXt
      convolution(128, 32, square(4, 3, 1, 1)),        // DenseNet
      convolution(3, 64, square(16, 16, 16, 0)),       // ViT
      convolution(32, 1152, square(1, 1, 1, 0)),       // squeeze and excite
  };
}

}  // namespace probust::test
