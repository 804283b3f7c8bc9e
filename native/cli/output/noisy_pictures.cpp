// SPDX-License-Identifier: MIT
#include "cli/output/noisy_pictures.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "probust/base/transpose.h"

namespace probust::cli {
namespace {

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t e = 0; e < a.size(); ++e) sum += (double{b[e]} - a[e]) * (double{b[e]} - a[e]);
  return sum;
}

// For each sample, the squared length of its draw of z in standard deviations, without the elements that become uniform
// parameters. Zero for all samples if the noise is not a map of z.
std::vector<double> improbable_parameters(const Noise& own, const NoiseLanes& draws) {
  const std::size_t count = draws.points.size();
  std::vector<double> sums(count, 0);
  const std::shared_ptr<const NoiseMap> map = own.shape->map();
  if (map == nullptr) return sums;
  const auto latents = static_cast<std::size_t>(map->latents);
  std::vector<float> z(latents * count, 0), variance(latents * count, 1);
  map->latent->add(draws, map->latents, static_cast<float>(own.scale), z.data());
  map->latent->variances(draws.points, map->latents, variance.data());
  for (std::size_t k = 0; k < latents; ++k) {
    if (std::find(map->uniform.begin(), map->uniform.end(), static_cast<std::int64_t>(k)) != map->uniform.end()) continue;
    for (std::size_t i = 0; i < count; ++i) {
      const double value = z[k * count + i] / own.scale, own_variance = variance[k * count + i];
      if (own_variance > 0) sums[i] += value * value / own_variance;
    }
  }
  return sums;
}

}  // namespace

NoisySamples noisy_samples(const Noise& noise, const Tensor& x, std::int64_t index, std::int64_t count, std::uint64_t seed) {
  const Shape point(x.shape.begin() + 1, x.shape.end());
  const Noise own = bound(noise, point);
  const std::int64_t elements = element_count(point);
  const std::vector<std::uint32_t> points(static_cast<std::size_t>(count), static_cast<std::uint32_t>(index));
  std::vector<std::uint32_t> samples(static_cast<std::size_t>(count));
  std::iota(samples.begin(), samples.end(), 0U);
  const NoiseLanes draws{seed, points, samples};
  std::vector<float> lanes(static_cast<std::size_t>(elements * count));
  for (std::int64_t e = 0; e < elements; ++e) std::fill_n(lanes.begin() + e * count, count, x.data[e]);
  own.shape->add(draws, elements, static_cast<float>(own.scale), lanes.data());
  Shape shape = x.shape;
  shape[0] = count;
  NoisySamples result{Tensor(shape), improbable_parameters(own, draws), {}};
  transpose(lanes.data(), elements, count, result.x.data.data());
  for (std::int64_t i = 0; i < count; ++i) result.changes.push_back(squared_distance(x.row(0), result.x.row(i)));
  return result;
}

std::optional<std::int64_t> most_probable(const NoisySamples& samples, const std::vector<bool>& wanted) {
  const auto order = [&](std::int64_t i) { return std::pair(samples.improbable[i], samples.changes[i]); };
  std::optional<std::int64_t> best;
  for (std::int64_t i = 0; i < std::ssize(wanted); ++i) {
    if (wanted[i] && (!best || order(i) < order(*best))) best = i;
  }
  return best;
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
