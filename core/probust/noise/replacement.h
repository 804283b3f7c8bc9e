// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <string>

#include "probust/noise/sampled.h"

namespace probust {

/// Noise that replaces values. It has parameters, but no scale.
class ReplacingNoise : public SampledNoise {
 public:
  using SampledNoise::SampledNoise;
  std::string text(double) const final { return name(); }
  bool one_parameter() const final { return false; }
  bool in_data_units() const final { return false; }

 protected:
  /// Calls visit(random, lane) for each lane with its random numbers.
  template <class Visit>
  static void for_each_lane(const NoiseLanes& lanes, const Visit& visit) {
    for (std::size_t lane = 0; lane < lanes.points.size(); ++lane) {
      NoiseStream random(lanes.seed, lanes.points[lane], lanes.samples[lane], lanes.stream);
      visit(random, static_cast<std::int64_t>(lane));
    }
  }

  /// A negative scale uses 1 - u instead of the uniform number u.
  static double uniform(NoiseStream& random, float scale) { return scale < 0 ? 1 - random.uniform() : random.uniform(); }
};

}  // namespace probust
