// SPDX-License-Identifier: MIT
#include "probust/regions/element_mass.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "probust/noise/clip_math.h"
#include "probust/normal/univariate.h"

namespace probust {
namespace {

CutMass unit_mass(ElementNoise::Draw draw, double z) {
  switch (draw) {
    case ElementNoise::Draw::normal:
      return {normal::cdf(z), normal::complement(z)};
    case ElementNoise::Draw::uniform: {
      const double below = std::clamp((1 + z) / 2, 0.0, 1.0);
      return {below, std::clamp((1 - z) / 2, 0.0, 1.0)};
    }
    case ElementNoise::Draw::laplace: {
      const double tail = std::exp(-std::fabs(z)) / 2;
      return z < 0 ? CutMass{tail, 1 - tail} : CutMass{1 - tail, tail};
    }
  }
  return {};
}

// The cut of the value before clipping and rounding that has the same side as `cut` of the value after it.
Cut before_clipping(const Quantization& range, const Cut& cut) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const ClipMath clip(range);
  const double low = clip.low, high = clip.high, step = clip.step;
  if (!cut.has_below(low)) return {-kInfinity, false};
  if (cut.has_below(high)) return {kInfinity, false};
  if (step == 0) return cut;
  // The largest level below the cut; values up to half a step above it are rounded to it.
  double level = std::floor((cut.at - low) / step) + 1;
  while (!cut.has_below(static_cast<double>(clip.low + clip.step * static_cast<float>(level)))) --level;
  return {low + step * (level + 0.5), true};
}

}  // namespace

CutMass mass_at(const ElementLaw& law, double scale, double x, const Cut& cut) {
  const Cut own = law.range ? before_clipping(*law.range, cut) : cut;
  const double deviation = law.deviation * scale;
  if (deviation == 0) return own.has_below(x) ? CutMass{1, 0} : CutMass{0, 1};
  return unit_mass(law.draw, (own.at - x) / deviation);
}

ElementMass::ElementMass(const ElementLaw& law, double scale, double x, std::span<const Cut> cuts)
    : law_(law), scale_(scale), x_(x), cuts_(cuts), masses_(cuts.size() + 2, CutMass{-1, -1}) {
  masses_.front() = {0, 1};
  masses_.back() = {1, 0};
}

}  // namespace probust
