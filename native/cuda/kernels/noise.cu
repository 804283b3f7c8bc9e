// SPDX-License-Identifier: MIT
// Kernels that draw noise. They are compiled without contraction of a * b + c, like the noise of the core, so that both produce
// the same bits.
#include <cmath>

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "probust/base/philox.h"
#include "probust/noise/draw_math.h"

namespace probust::cuda {
namespace {

// Draws four elements of one noisy sample from four words of the generator.
struct Draw {
  DeviceRange range;
  DeviceNoise noise;
  float* to;

  PROBUST_HOST_DEVICE void unit_draws(const PhiloxCounter& words, float (&z)[4]) const {
    switch (noise.draw) {
      case ElementNoise::Draw::normal:
        draws::normal_pair(words[0], words[1], z[0], z[1]);
        draws::normal_pair(words[2], words[3], z[2], z[3]);
        return;
      case ElementNoise::Draw::uniform:
        for (int k = 0; k < 4; ++k) z[k] = draws::uniform_draw(words[k]);
        return;
      case ElementNoise::Draw::laplace:
        for (int k = 0; k < 4; ++k) z[k] = draws::laplace_draw(words[k]);
        return;
    }
    for (int k = 0; k < 4; ++k) z[k] = NAN;  // never reached, because has_kernel() is false for other draws
  }

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t quad) const {
    const std::int64_t point = range.point(lane);
    const PhiloxKey key{static_cast<std::uint32_t>(noise.seed), static_cast<std::uint32_t>(noise.seed >> 32)};
    float z[4];
    unit_draws(philox({static_cast<std::uint32_t>(quad), range.sample(lane), range.position(lane), 0}, key), z);
    const float* deviations = noise.deviations + (noise.varies ? range.index[point] * range.elements : 0);
    for (int k = 0; k < 4 && quad * 4 + k < range.elements; ++k) {
      const std::int64_t e = quad * 4 + k;
      const float scaled = noise.scale * z[k], moved = noise.deviations == nullptr ? scaled : deviations[e] * scaled;
      const float value = range.x[point * range.elements + e] + moved;
      to[lane * range.elements + e] = noise.clips ? noise.clip(value) : value;
    }
  }
};

struct Reflect {
  DeviceRange range;
  float* to;

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t e) const {
    const float x = range.x[range.point(lane) * range.elements + e];
    float& copy = to[lane * range.elements + e];
    copy = x - (copy - x);
  }
};

struct ScaleByDeviation {
  float deviation;
  bool varies;
  const float* deviations;
  const std::uint32_t* index_of;
  std::int64_t examples;
  Output values;

  PROBUST_HOST_DEVICE void operator()(std::int64_t lane, std::int64_t e) const {
    const std::int64_t row = varies ? index_of[lane % examples] * values.elements : 0;
    const float d = deviations == nullptr ? deviation : deviation * deviations[row + e];
    values.floats(lane)[e] *= d;
  }
};

}  // namespace

void draw(Device& device, const DeviceRange& range, const DeviceNoise& noise, float* to) {
  for_each_element(device, range.lanes, (range.elements + 3) / 4, Draw{range, noise, to});
}

void reflect(Device& device, const DeviceRange& range, float* to) {
  for_each_element(device, range.lanes, range.elements, Reflect{range, to});
}

void scale_by_deviation(Device& device, const ElementNoise& noise, const float* deviations, const std::uint32_t* index,
                        std::int64_t examples, Output gradients) {
  for_each_element(device, gradients.lanes, gradients.elements,
                   ScaleByDeviation{noise.deviation, noise.varies, deviations, index, examples, gradients});
}

}  // namespace probust::cuda
