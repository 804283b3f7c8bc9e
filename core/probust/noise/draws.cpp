// SPDX-License-Identifier: MIT
// Unit draws for neighbouring lanes, a block at a time.
#include "probust/noise/draws.h"

#include <algorithm>
#include <array>

#include "probust/base/philox.h"
#include "probust/noise/draw_math.h"

namespace probust::draws {
namespace {

constexpr std::int64_t kBlock = 64;  // lanes generated at once, so that the loops below vectorise

// The four draws that each lane of a block gets from its four words.
using Four = std::array<std::array<float, kBlock>, 4>;

inline void normals(const PhiloxCounter& words, std::int64_t i, Four& z) {
  normal_pair(words[0], words[1], z[0][i], z[1][i]);
  normal_pair(words[2], words[3], z[2][i], z[3][i]);
}

inline void uniforms(const PhiloxCounter& words, std::int64_t i, Four& z) {
  for (std::size_t k = 0; k < 4; ++k) z[k][i] = uniform_draw(words[k]);
}

inline void laplaces(const PhiloxCounter& words, std::int64_t i, Four& z) {
  for (std::size_t k = 0; k < 4; ++k) z[k][i] = laplace_draw(words[k]);
}

template <void (*draw)(const PhiloxCounter&, std::int64_t, Four&)>
void add_draws(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) {
  const auto count = static_cast<std::int64_t>(lanes.points.size());
  const PhiloxKey key{static_cast<std::uint32_t>(lanes.seed), static_cast<std::uint32_t>(lanes.seed >> 32)};
  for (std::int64_t quad = 0; quad * 4 < elements; ++quad) {
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t width = std::min(kBlock, count - first);
      Four z;
      for (std::int64_t i = 0; i < width; ++i) {
        draw(philox({static_cast<std::uint32_t>(quad), lanes.samples[first + i], lanes.points[first + i], lanes.stream}, key), i,
             z);
      }
      const std::int64_t rows = std::min<std::int64_t>(4, elements - quad * 4);
      for (std::int64_t row = 0; row < rows; ++row) {
        float* to = x + (quad * 4 + row) * count + first;
        for (std::int64_t i = 0; i < width; ++i) to[i] += scale * z[row][i];
      }
    }
  }
}

}  // namespace

void add(ElementNoise::Draw draw, const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) {
  switch (draw) {
    case ElementNoise::Draw::normal:
      return add_draws<normals>(lanes, elements, scale, x);
    case ElementNoise::Draw::uniform:
      return add_draws<uniforms>(lanes, elements, scale, x);
    case ElementNoise::Draw::laplace:
      return add_draws<laplaces>(lanes, elements, scale, x);
  }
}

void add_normal(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) {
  add_draws<normals>(lanes, elements, scale, x);
}

void box_muller(std::uint32_t radius_word, std::uint32_t angle_word, float& z0, float& z1) {
  normal_pair(radius_word, angle_word, z0, z1);
}

}  // namespace probust::draws
