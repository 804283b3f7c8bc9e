// SPDX-License-Identifier: MIT
// Values drawn again from their own columns of the data: each value is independently replaced by that of a random point.
#include <algorithm>

#include "probust/base/text.h"
#include "probust/noise/of_data.h"
#include "probust/noise/replacement.h"

namespace probust {
namespace {

class Resampled final : public ReplacingNoise {
 public:
  explicit Resampled(double probability, Tensor points = {})
      : ReplacingNoise("resample noise"), probability_(probability), points_(std::move(points)) {}

  std::string name() const override { return "resample:" + shortest_text(probability_); }

  bool needs_data() const override { return points_.shape.empty(); }
  std::shared_ptr<const NoiseShape> with_data(const Tensor& points) const override {
    return needs_data() ? std::make_shared<const Resampled>(probability_, points) : nullptr;
  }
  void fit(std::int64_t elements, std::int64_t) const override { require_columns(name(), columns_of(points_), elements); }

  // The row is drawn even if the value stays, so that later values do not depend on the probability.
  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    const auto count = static_cast<std::int64_t>(lanes.points.size()), rows = points_.shape[0];
    for_each_lane(lanes, [&](NoiseStream& random, std::int64_t lane) {
      for (std::int64_t e = 0; e < elements; ++e) {
        const double u = uniform(random, scale), row = uniform(random, scale) * static_cast<double>(rows);
        if (u < probability_)
          x[e * count + lane] = points_.data[std::min(static_cast<std::int64_t>(row), rows - 1) * elements + e];
      }
    });
  }

 private:
  double probability_;
  Tensor points_;  // [N, elements]
};

}  // namespace

std::shared_ptr<const NoiseShape> resampled_noise(double probability) { return std::make_shared<const Resampled>(probability); }

}  // namespace probust
