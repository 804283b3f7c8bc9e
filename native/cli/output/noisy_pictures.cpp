// SPDX-License-Identifier: MIT
#include "cli/output/noisy_pictures.h"

#include <algorithm>
#include <numeric>

#include "probust/base/transpose.h"

namespace probust::cli {

Tensor noisy_samples(const Noise& noise, const Tensor& x, std::int64_t index, std::int64_t count, std::uint64_t seed) {
  const Shape point(x.shape.begin() + 1, x.shape.end());
  const Noise own = bound(noise, point);
  const std::int64_t elements = element_count(point);
  const std::vector<std::uint32_t> points(static_cast<std::size_t>(count), static_cast<std::uint32_t>(index));
  std::vector<std::uint32_t> samples(static_cast<std::size_t>(count));
  std::iota(samples.begin(), samples.end(), 0U);
  std::vector<float> lanes(static_cast<std::size_t>(elements * count));
  for (std::int64_t e = 0; e < elements; ++e) std::fill_n(lanes.begin() + e * count, count, x.data[e]);
  own.shape->add({seed, points, samples}, elements, static_cast<float>(own.scale), lanes.data());
  Shape shape = x.shape;
  shape[0] = count;
  Tensor noisy(shape);
  transpose(lanes.data(), elements, count, noisy.data.data());
  return noisy;
}

report::Picture picture_of(const Image& image, std::span<const float> point, const report::Brightness& brightness) {
  const bool colour = image.channels == 3 || image.channels == 4;  // the fourth channel is opacity
  const std::int64_t shown = colour ? 3 : 1, pixels = image.pixels();
  const bool mean = !colour && image.channels > 1;
  Tensor planes({1, shown, image.rows, image.columns});
  const auto value = [&](std::int64_t channel, std::int64_t pixel) {
    return point[image.channels_last ? pixel * image.channels + channel : channel * pixels + pixel];
  };
  for (std::int64_t c = 0; c < shown; ++c) {
    for (std::int64_t i = 0; i < pixels; ++i) {
      float& to = planes.data[c * pixels + i];
      for (std::int64_t k = mean ? 0 : c; k <= (mean ? image.channels - 1 : c); ++k) to += value(k, i);
      if (mean) to /= static_cast<float>(image.channels);
    }
  }
  return report::picture_of(planes, brightness);
}

}  // namespace probust::cli
