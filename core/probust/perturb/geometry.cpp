// SPDX-License-Identifier: MIT
// Geometry: each pixel of the result is read at the position that an affine map about the centre gives, interpolated by
// Catmull-Rom's spline. Bilinear interpolation would have a kink at every pixel, so at the identity the derivatives from the two
// sides would differ.
#include <numbers>

#include "probust/ops/build.h"
#include "probust/perturb/family.h"

namespace probust::perturb {
namespace {

// The affine map from a pixel (row, column) of the result to the position that it reads, both relative to the centre. Missing
// coefficients are those of the identity.
struct Affine {
  ValueId row_by_row = kNoValue, row_by_column = kNoValue, column_by_row = kNoValue, column_by_column = kNoValue;  // scalars
  ValueId row = kNoValue, column = kNoValue;  // the shift, in pixels
};

// [1, 1, rows, columns]: the signed distance of each pixel from the centre along one axis.
ValueId from_centre(Graph& g, const Image& image, bool along_rows) {
  Tensor distance({1, 1, image.rows, image.columns});
  for (std::int64_t q = 0; q < image.pixels(); ++q) {
    const double at = along_rows ? static_cast<double>(q / image.columns) - static_cast<double>(image.rows - 1) / 2
                                 : static_cast<double>(q % image.columns) - static_cast<double>(image.columns - 1) / 2;
    distance.data[q] = static_cast<float>(at);
  }
  return append_constant(g, std::move(distance));
}

// own * factor + other * cross + shift + centre, in which a missing factor is 1 and a missing cross or shift is 0.
ValueId positions_along(Graph& g, ValueId own, ValueId factor, ValueId other, ValueId cross, ValueId shift, double centre) {
  const Shape shape = g[own].shape;
  const auto times = [&](ValueId pixels, ValueId scalar) {
    return build::multiply(g, pixels, build::broadcast(g, scalar, shape));
  };
  ValueId sum = factor == kNoValue ? own : times(own, factor);
  if (cross != kNoValue) sum = build::add(g, sum, times(other, cross));
  if (shift != kNoValue) sum = build::add(g, sum, build::broadcast(g, shift, shape));
  return build::add(g, sum, build::broadcast(g, build::constant(g, static_cast<float>(centre)), shape));
}

ValueId sampled(const MapInputs& in, const Affine& map) {
  Graph& g = in.g;
  const Image& image = in.image;
  const ValueId rows = from_centre(g, image, true), columns = from_centre(g, image, false);
  const ValueId row =
      positions_along(g, rows, map.row_by_row, columns, map.row_by_column, map.row, static_cast<double>(image.rows - 1) / 2);
  const ValueId column = positions_along(g, columns, map.column_by_column, rows, map.column_by_row, map.column,
                                         static_cast<double>(image.columns - 1) / 2);
  return sample_at(in, append(g, Op::concat, {row, column}, AxisAttribute{1}));
}

ValueId rotated(const MapInputs& in) {
  Graph& g = in.g;
  const ValueId angle = build::multiply(g, in.theta[0], build::constant(g, std::numbers::pi_v<float> / 180));
  const ValueId sine = append(g, Op::sine, {angle}), cosine = append(g, Op::cosine, {angle});
  return sampled(in, {cosine, sine, build::negate(g, sine), cosine});
}

ValueId shifted(const MapInputs& in) {
  return sampled(in, {.row = build::negate(in.g, in.theta[1]), .column = build::negate(in.g, in.theta[0])});
}

ValueId shifted_across(const MapInputs& in) { return sampled(in, {.column = build::negate(in.g, in.theta[0])}); }
ValueId shifted_down(const MapInputs& in) { return sampled(in, {.row = build::negate(in.g, in.theta[0])}); }

ValueId zoomed(const MapInputs& in) {
  const ValueId inverse = append(in.g, Op::reciprocal, {in.theta[0]});
  return sampled(in, {.row_by_row = inverse, .column_by_column = inverse});
}

ValueId sheared(const MapInputs& in) { return sampled(in, {.column_by_row = in.theta[0]}); }

}  // namespace

ValueId sample_at(const MapInputs& in, ValueId positions) {
  Graph& g = in.g;
  const Image& image = in.image;
  GridAttributes grid{.rows = image.rows, .columns = image.columns, .interpolation = GridAttributes::Interpolation::cubic};
  grid.padding = in.border.kind == Border::Kind::nearest   ? GridAttributes::Padding::border
                 : in.border.kind == Border::Kind::reflect ? GridAttributes::Padding::reflect_centres
                                                           : GridAttributes::Padding::zeros;
  const bool filled = in.border.kind == Border::Kind::constant && in.border.value != 0;  // otherwise pixels beyond the border are
                                                                                         // 0
  const ValueId fill = filled ? build::broadcast(g, build::constant(g, in.border.value), image.planes()) : kNoValue;
  const ValueId x = filled ? build::subtract(g, in.x, fill) : in.x;
  const ValueId batched = build::reshape(g, x, {1, image.channels, image.rows, image.columns});
  const ValueId moved = build::reshape(g, append(g, Op::grid_sample, {batched, positions}, grid), image.planes());
  return filled ? build::add(g, moved, fill) : moved;
}

std::vector<Family> geometry() {
  const Parameter angle{"angle", "degrees", 0}, across{"shift across", "pixels", 0}, down{"shift down", "pixels", 0};
  std::vector<Family> families = {
      {.name = "rotate",
       .summary = "turns the image about its centre",
       .parameters = {angle},
       .strengths = {5, 10, 20},
       .map = rotated},
      {.name = "shift",
       .summary = "shifts the image across and down",
       .parameters = {across, down},
       .strengths = {1, 2, 4},
       .map = shifted},
      {.name = "shift-x", .summary = "shifts the image across", .parameters = {across}, .map = shifted_across},
      {.name = "shift-y", .summary = "shifts the image down", .parameters = {down}, .map = shifted_down},
      {.name = "time-shift",
       .summary = "shifts a series along its last axis",
       .parameters = {{"shift", "steps", 0}},
       .map = shifted_across,
       .series = true},
      {.name = "zoom",
       .summary = "enlarges the image about its centre",
       .parameters = {{"factor", "", 1, Link::exponential, 0.01, 100}},
       .strengths = {0.05, 0.1, 0.2},
       .map = zoomed},
      {.name = "shear",
       .summary = "moves each row across by a multiple of its distance from the centre",
       .parameters = {{"slope", "", 0}},
       .strengths = {0.1, 0.2, 0.4},
       .map = sheared},
  };
  for (Family& family : families) family.has_border = true;
  return families;
}

}  // namespace probust::perturb
