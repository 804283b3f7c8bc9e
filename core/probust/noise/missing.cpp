// SPDX-License-Identifier: MIT
// Missing values: each value is independently replaced, by a number or by the mean of its column in the data.
#include "probust/base/text.h"
#include "probust/noise/of_data.h"
#include "probust/noise/replacement.h"

namespace probust {
namespace {

class Missing final : public ReplacingNoise {
 public:
  Missing(double probability, std::optional<double> value, std::vector<double> means = {})
      : ReplacingNoise("missing noise"), probability_(probability), value_(value), means_(std::move(means)) {}

  std::string name() const override {
    return "missing:" + shortest_text(probability_) + "=" + (value_ ? shortest_text(*value_) : "mean");
  }

  bool needs_data() const override { return !value_ && means_.empty(); }
  std::shared_ptr<const NoiseShape> with_data(const Tensor& points) const override {
    if (!needs_data()) return nullptr;
    return std::make_shared<const Missing>(probability_, value_, column_means(points));
  }
  void fit(std::int64_t elements, std::int64_t) const override {
    if (!value_) require_columns(name(), std::ssize(means_), elements);
  }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    const auto count = static_cast<std::int64_t>(lanes.points.size());
    for_each_lane(lanes, [&](NoiseStream& random, std::int64_t lane) {
      for (std::int64_t e = 0; e < elements; ++e) {
        if (uniform(random, scale) < probability_) x[e * count + lane] = static_cast<float>(value_ ? *value_ : means_[e]);
      }
    });
  }

 private:
  double probability_;
  std::optional<double> value_;  // empty: the mean
  std::vector<double> means_;    // [elements], if values become the mean
};

}  // namespace

std::shared_ptr<const NoiseShape> missing_noise(double probability, std::optional<double> value) {
  return std::make_shared<const Missing>(probability, value);
}

}  // namespace probust
