// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "probust/perturb/noise_text.h"

// Noisy samples of one image.
namespace probust::test {

/// A smooth image with an edge. Its values are within [0.05, 0.95].
inline std::vector<float> picture(const Shape& shape) {
  const std::int64_t columns = shape.back(), rows = element_count(shape) / columns;
  std::vector<float> x;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const float wave = std::sin(0.4F * static_cast<float>(r)) * std::cos(0.3F * static_cast<float>(c));
      x.push_back(0.5F + 0.25F * wave + (r % 13 > 5 && c % 9 > 3 ? 0.2F : -0.2F));
    }
  }
  return x;
}

/// Noisy samples [elements][samples] of one image, beginning with sample `first`.
inline std::vector<float> drawn(const std::string& text, const Shape& shape, const std::vector<float>& image,
                                std::uint32_t samples = 1, std::uint32_t first = 0, std::uint64_t seed = 1) {
  const Noise noise = bound(parse_noise(text), shape);
  const std::vector<std::uint32_t> points(samples, 3);
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < samples; ++i) numbers.push_back(first + i);
  std::vector<float> x;
  for (const float value : image) x.insert(x.end(), samples, value);
  noise.shape->add({seed, points, numbers}, static_cast<std::int64_t>(image.size()), static_cast<float>(noise.scale), x.data());
  return x;
}

inline std::vector<float> lane_of(const std::vector<float>& all, std::size_t lane, std::size_t lanes) {
  std::vector<float> x;
  for (std::size_t at = lane; at < all.size(); at += lanes) x.push_back(all[at]);
  return x;
}

/// The Euclidean distance.
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t e = 0; e < a.size(); ++e) sum += (double{a[e]} - b[e]) * (double{a[e]} - b[e]);
  return std::sqrt(sum);
}

}  // namespace probust::test
