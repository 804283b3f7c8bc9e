// SPDX-License-Identifier: MIT
// Optics: an image that is out of focus, or moves while it is taken.
#include "probust/ops/build.h"
#include "probust/perturb/family.h"

namespace probust::perturb {
namespace {

// The mean of the image along a path through each pixel: a vector (across, down) from half of it before to half of it after, at
// kSteps positions of Simpson's rule.
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
      {.name = "motion",
       .summary = "moves the image, in any direction, while it is taken",
       .parameters = {{"across", "pixels", 0}, {"down", "pixels", 0}},
       .has_border = true,
       .map = moved_while_taken},
  };
}

}  // namespace probust::perturb
