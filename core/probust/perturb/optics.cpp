// SPDX-License-Identifier: MIT
// Optics: an image that is out of focus, or a camera that moves during the exposure.
#include <algorithm>
#include <cmath>

#include "probust/ops/build.h"
#include "probust/perturb/family.h"

namespace probust::perturb {
namespace {

constexpr float kLeast = 1e-5F;              // the smallest weight, relative to the largest: reached at 4.8 standard deviations
constexpr std::int64_t kLargestRadius = 64;  // in pixels: enough for a width of 13

// [2 radius + 1] Gaussian weights of standard deviation `width`, with sum 1. Weights below kLeast times the largest are
// exactly 0, so that a kernel can leave them out. At width 0, all but one are 0.
ValueId gaussian_weights(Graph& g, ValueId width, std::int64_t radius) {
  constexpr float kLeastVariance = 1e-6F;
  const Shape shape{2 * radius + 1};
  Tensor exponents(shape);
  for (std::int64_t o = -radius; o <= radius; ++o) exponents.data[o + radius] = -0.5F * static_cast<float>(o * o);
  const ValueId variance = append(g, Op::maximum, {build::multiply(g, width, width), build::constant(g, kLeastVariance)});
  const ValueId scaled = build::divide(g, append_constant(g, std::move(exponents)), build::broadcast(g, variance, shape));
  const ValueId all = append(g, Op::exp, {scaled});
  const ValueId counts = append(g, Op::less, {build::broadcast(g, build::constant(g, kLeast), shape), all});
  const ValueId weights = build::multiply(g, all, counts);
  return build::divide(g, weights, build::broadcast(g, build::reduce_sum(g, weights, {0}), shape));
}

// The pixel to read at position i of an axis; i may be beyond the border.
std::int64_t continued(Border::Kind kind, std::int64_t i, std::int64_t extent) {
  if (kind != Border::Kind::reflect || extent == 1) return std::clamp<std::int64_t>(i, 0, extent - 1);
  const std::int64_t period = 2 * (extent - 1), place = (i % period + period) % period;
  return std::min(place, period - place);
}

// The image [channels, 1, rows, columns] filtered along axis 2 or 3 with weights [2 radius + 1].
ValueId filtered(const MapInputs& in, ValueId x, ValueId weights, std::int64_t axis, std::int64_t radius) {
  Graph& g = in.g;
  const std::int64_t extent = g[x].shape[static_cast<std::size_t>(axis)];
  if (in.border.kind == Border::Kind::constant) {
    PadAttributes pad{{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
    pad.low[static_cast<std::size_t>(axis)] = pad.high[static_cast<std::size_t>(axis)] = radius;
    x = append(g, Op::pad, {x}, pad);
  } else {
    std::vector<std::int64_t> pixels;
    for (std::int64_t i = -radius; i < extent + radius; ++i) pixels.push_back(continued(in.border.kind, i, extent));
    x = append(g, Op::gather, {x}, GatherAttributes{axis, pixels, extent});
  }
  const Shape padded{g[x].shape[2], g[x].shape[3]};
  const Shape kernel = axis == 2 ? Shape{2 * radius + 1, 1} : Shape{1, 2 * radius + 1};
  const ValueId filter = build::reshape(g, weights, {1, 1, kernel[0], kernel[1]});
  return append(g, Op::conv, {x, filter}, Window{padded, kernel, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
}

ValueId blurred(const MapInputs& in) {
  Graph& g = in.g;
  const Image& image = in.image;
  // Whether pixels beyond the border have a constant value other than 0.
  const bool filled = in.border.kind == Border::Kind::constant && in.border.value != 0;
  const ValueId fill = filled ? build::broadcast(g, build::constant(g, in.border.value), image.planes()) : kNoValue;
  const double reach = std::ceil(std::min(in.most * std::sqrt(-2 * std::log(double{kLeast})), double{kLargestRadius}));
  const std::int64_t radius = std::min(static_cast<std::int64_t>(reach), std::max(image.rows, image.columns));
  const ValueId weights = gaussian_weights(g, in.theta[0], radius);
  ValueId x = build::reshape(g, filled ? build::subtract(g, in.x, fill) : in.x, {image.channels, 1, image.rows, image.columns});
  for (const std::int64_t axis : {2, 3}) x = filtered(in, x, weights, axis, radius);
  x = build::reshape(g, x, image.planes());
  return filled ? build::add(g, x, fill) : x;
}

// The mean of the image along a line segment through each pixel, by Simpson's rule at kSteps positions. The segment is the vector
// theta (across, down), centred at the pixel.
ValueId moved_while_taken(const MapInputs& in) {
  constexpr int kSteps = 9;
  Graph& g = in.g;
  const Image& image = in.image;
  const Shape plane{1, 1, image.rows, image.columns};
  Tensor row(plane), column(plane);
  for (std::int64_t q = 0; q < image.pixels(); ++q) {
    row.data[q] = static_cast<float>(q / image.columns);
    column.data[q] = static_cast<float>(q % image.columns);
  }
  const ValueId rows = append_constant(g, std::move(row)), columns = append_constant(g, std::move(column));
  ValueId sum = kNoValue;
  for (int k = 0; k < kSteps; ++k) {
    const float along = static_cast<float>(k) / (kSteps - 1) - 0.5F;
    const float weight = (k == 0 || k == kSteps - 1 ? 1.0F : k % 2 == 1 ? 4.0F : 2.0F) / (3 * (kSteps - 1));
    const auto at = [&](ValueId pixels, ValueId length) {
      const ValueId step = build::multiply(g, length, build::constant(g, along));
      return build::add(g, pixels, build::broadcast(g, step, plane));
    };
    const ValueId positions = append(g, Op::concat, {at(rows, in.theta[1]), at(columns, in.theta[0])}, AxisAttribute{1});
    const ValueId shares = build::broadcast(g, build::constant(g, weight), image.planes());
    const ValueId part = build::multiply(g, sample_at(in, positions), shares);
    sum = sum == kNoValue ? part : build::add(g, sum, part);
  }
  return sum;
}

}  // namespace

std::vector<Family> optics() {
  return {
      {.name = "blur",
       .summary = "blurs the image with a Gaussian of a random width",
       .parameters = {{"width", "pixels", 0, Link::magnitude, 0, 13}},
       .has_border = true,
       .strengths = {0.5, 1, 2},
       .map = blurred,
       .even = true},
      {.name = "motion",
       .summary = "blurs the image as if the camera moved in a random direction",
       .parameters = {{"path across", "pixels", 0}, {"path down", "pixels", 0}},
       .has_border = true,
       .strengths = {1, 2, 4},
       .map = moved_while_taken,
       .even = true},
  };
}

}  // namespace probust::perturb
