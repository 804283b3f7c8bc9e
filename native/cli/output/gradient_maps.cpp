// SPDX-License-Identifier: MIT
#include "cli/output/gradient_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/output/text_file.h"
#include "cli/output/text_table.h"
#include "probust/base/error.h"

namespace probust::cli {
namespace {

// White for 0, red for 1, blue for -1.
void append_colour(double share, std::vector<std::uint8_t>& bytes) {
  const auto fading = static_cast<std::uint8_t>(std::lround(255 * (1 - std::abs(share))));
  const std::uint8_t red = share < 0 ? fading : 255, blue = share > 0 ? fading : 255;
  bytes.insert(bytes.end(), {red, fading, blue});
}

// The sum of a gradient [C, H, W] over the channels, relative to its largest absolute value.
report::Picture map_of(std::span<const float> gradient, const Shape& image) {
  const std::int64_t pixels = image[1] * image[2];
  std::vector<double> sums(static_cast<std::size_t>(pixels), 0);
  for (std::size_t e = 0; e < gradient.size(); ++e) sums[e % static_cast<std::size_t>(pixels)] += double{gradient[e]};
  double largest = 0;
  for (const double sum : sums) largest = std::max(largest, std::abs(sum));
  report::Picture picture{image[1], image[2], 3, {}};
  for (const double sum : sums) append_colour(largest > 0 && std::isfinite(sum) ? sum / largest : 0, picture.bytes);
  return picture;
}

}  // namespace

void require_images(const Shape& point, const std::string& file) {
  if (report::is_image(point)) return;
  throw Error{ErrorCode::usage, file, "needs images [1, H, W] or [3, H, W], but points have the shape " + to_string(point),
              "leave out --maps"};
}

GradientMaps::GradientMaps(std::int64_t capacity) : capacity_(capacity) {
  grid_.columns = {"image", "dp/dx"};
  grid_.side = 96;
}

void GradientMaps::add(const Points& points, const GradientOfP& found, std::int64_t i) {
  const Tensor image = rows(points.x, i, 1);
  const Shape shape(image.shape.begin() + 1, image.shape.end());
  grid_.rows.push_back(
      {std::to_string(points.index[static_cast<std::size_t>(i)]),
       {{report::picture_of(image, report::brightness_of(image), grid_.side), "p = " + probability_text(found.p[i])},
        {map_of(found.gradient.row(i), shape), ""}}});
}

void GradientMaps::write(const std::string& path) const {
  const std::vector<std::uint8_t> file = report::png(report::raster(grid_));
  write_text_file(path, {reinterpret_cast<const char*>(file.data()), file.size()});
}

}  // namespace probust::cli
