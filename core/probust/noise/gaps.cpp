// SPDX-License-Identifier: MIT
// A gap in a series: a stretch of a given share of the last axis, at a random position that all rows have in common.
#include <algorithm>

#include "probust/base/text.h"
#include "probust/noise/replacement.h"

namespace probust {
namespace {

class Gap final : public ReplacingNoise {
 public:
  Gap(double share, std::optional<double> value, std::int64_t row = 0)
      : ReplacingNoise("gaps noise"), share_(share), value_(value), row_(row) {}

  std::string name() const override { return "gaps:" + shortest_text(share_) + (value_ ? "=" + shortest_text(*value_) : ""); }

  // Without a shape, a point is one row.
  std::shared_ptr<const NoiseShape> bound(const Shape& point) const override {
    return row_ > 0 || point.empty() ? nullptr : std::make_shared<const Gap>(share_, value_, point.back());
  }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    const auto count = static_cast<std::int64_t>(lanes.points.size()), row = row_ > 0 ? row_ : elements;
    const auto size = std::clamp<std::int64_t>(static_cast<std::int64_t>(share_ * static_cast<double>(row) + 0.5), 1, row);
    for_each_lane(lanes, [&](NoiseStream& random, std::int64_t lane) {
      const auto place = static_cast<std::int64_t>(uniform(random, scale) * static_cast<double>(row - size + 1));
      const std::int64_t first = std::min(place, row - size);
      // The last value before the gap is held; if there is none, the first one after it.
      const std::int64_t held = first > 0 ? first - 1 : std::min(first + size, row - 1);
      for (std::int64_t begin = 0; begin < elements; begin += row) {
        const float value = value_ ? static_cast<float>(*value_) : x[(begin + held) * count + lane];
        for (std::int64_t e = first; e < first + size; ++e) x[(begin + e) * count + lane] = value;
      }
    });
  }

 private:
  double share_;
  std::optional<double> value_;
  std::int64_t row_;  // 0: not bound
};

}  // namespace

std::shared_ptr<const NoiseShape> gap_noise(double share, std::optional<double> value) {
  return std::make_shared<const Gap>(share, value);
}

}  // namespace probust
