// SPDX-License-Identifier: MIT
// Noise of a camera's sensor: photons that arrive at random, and pixels that fail.
#include <limits>

#include "probust/perturb/family.h"
#include "probust/perturb/poisson.h"

namespace probust::perturb {
namespace {

// A value v becomes Poisson(v P) / P, with P the expected number of photons of white.
void count_photons(const DrawInputs& in, std::span<float> x) {
  const double photons = in.theta[0];
  for (float& value : x) value = static_cast<float>(poisson(double{value} * photons, in.random) / photons);
}

// One random number per pixel determines whether it fails and, if so, whether it is black or white in all channels.
void fail_pixels(const DrawInputs& in, std::span<float> x) {
  const double share = in.theta[0];
  const std::int64_t pixels = in.image.pixels();
  for (std::int64_t i = 0; i < pixels; ++i) {
    const double u = in.random.uniform();
    if (u >= share) continue;
    for (std::int64_t c = 0; c < in.image.channels; ++c) x[c * pixels + i] = u < share / 2 ? 0.0F : 1.0F;
  }
}

}  // namespace

std::vector<Family> sensor() {
  return {
      {.name = "shot",
       .summary = "adds photon noise, which grows with brightness",
       .parameters = {{"photons", "at white", std::numeric_limits<double>::infinity(), Link::plain, 0.01, 1e6}},
       .number = Family::Number::value,
       .strengths = {500, 100, 20},
       .draw = count_photons,
       .draws = true,
       .example = "100",
       .bounds = "50,200"},
      {.name = "salt-pepper",
       .summary = "sets a share of the pixels to black or white",
       .parameters = {{"share", "of the pixels", 0, Link::magnitude, 0, 1}},
       .number = Family::Number::value,
       .strengths = {0.01, 0.02, 0.05},
       .draw = fail_pixels,
       .draws = true,
       .example = "0.02",
       .bounds = "0,0.1"},
  };
}

}  // namespace probust::perturb
