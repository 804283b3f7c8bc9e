// SPDX-License-Identifier: MIT
// Transmission: a patch covers a part of the image, or JPEG compression loses details.
#include <cmath>

#include "probust/ops/build.h"
#include "probust/perturb/family.h"
#include "probust/perturb/jpeg.h"

namespace probust::perturb {
namespace {

// How much of each of n cells is covered by a window of length `width` that begins at `start`, in cells. Areas are exact, so
// that they are continuous in the position of the window.
ValueId covered(Graph& g, std::int64_t n, ValueId start, ValueId width) {
  Tensor first({n}), last({n});
  for (std::int64_t i = 0; i < n; ++i) {
    first.data[i] = static_cast<float>(i);
    last.data[i] = static_cast<float>(i + 1);
  }
  const ValueId begin = build::broadcast(g, start, {n}), end = build::broadcast(g, build::add(g, start, width), {n});
  const ValueId right = append(g, Op::minimum, {end, append_constant(g, std::move(last))});
  const ValueId left = append(g, Op::maximum, {begin, append_constant(g, std::move(first))});
  return append(g, Op::relu, {build::subtract(g, right, left)});
}

// Covers a given share of the image's area with a patch that has the image's proportions, at a uniformly random position inside
// the image.
ValueId occluded(const MapInputs& in) {
  Graph& g = in.g;
  const Image& image = in.image;
  const ValueId side = append(g, Op::sqrt, {in.theta[0]});
  const auto along = [&](std::int64_t n, ValueId place) {
    const ValueId all = build::constant(g, static_cast<float>(n)), width = build::multiply(g, all, side);
    return covered(g, n, build::multiply(g, build::subtract(g, all, width), place), width);
  };
  const ValueId rows = build::reshape(g, along(image.rows, in.theta[1]), {1, image.rows, 1});
  const ValueId columns = build::reshape(g, along(image.columns, in.theta[2]), {1, 1, image.columns});
  const ValueId share =
      build::multiply(g, build::broadcast(g, rows, image.planes()), build::broadcast(g, columns, image.planes()));
  const ValueId patch = build::broadcast(g, build::constant(g, in.border.value), image.planes());
  return build::add(g, in.x, build::multiply(g, share, build::subtract(g, patch, in.x)));
}

}  // namespace

std::vector<Family> transmission() {
  return {
      {.name = "occlude",
       .summary = "covers a share of the image with a patch at a random position",
       .parameters = {{"share", "of the image", 0, Link::magnitude, 0, 1},
                      {"row", "", 0, Link::plain, 0, 1},
                      {"column", "", 0, Link::plain, 0, 1}},
       .number = Family::Number::value,
       .has_border = true,
       .strengths = {0.05, 0.1, 0.2},
       .map = occluded},
      jpeg_family(),
  };
}

}  // namespace probust::perturb
