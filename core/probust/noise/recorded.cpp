// SPDX-License-Identifier: MIT
// Recorded deviations: a noisy sample is the point plus one of M deviations, all equally likely. There is either one set for
// all points (deviations of a sensor, for example) or one set per point (members of an ensemble).
#include <cmath>

#include "probust/noise/arrays.h"

namespace probust {
namespace {

class Recorded final : public NoiseShape {
 public:
  /// `deviations` are [M, d] per point; `second` is the Gaussian with the same second moments.
  Recorded(PerPoint deviations, std::shared_ptr<const NoiseShape> second, std::string name)
      : rows_(std::move(deviations)), second_(std::move(second)), name_(std::move(name)) {
    records_ = rows_.width / rows_.elements;
  }

  std::string name() const override { return name_; }
  std::string text(double scale) const override { return text_with_scale(name_, scale); }
  bool one_parameter() const override { return false; }
  bool differs() const override { return rows_.varies; }
  void fit(std::int64_t elements, std::int64_t points) const override { rows_.fit(elements, points); }

  // A negative scale uses 1 - u instead of the uniform number u.
  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    const auto count = static_cast<std::int64_t>(lanes.points.size());
    for (std::int64_t lane = 0; lane < count; ++lane) {
      NoiseStream random(lanes.seed, lanes.points[lane], lanes.samples[lane], lanes.stream);
      const double u = random.uniform();
      const auto record = static_cast<std::int64_t>((scale < 0 ? 1 - u : u) * static_cast<double>(records_));
      const auto all = rows_.at(lanes.points[lane]);
      const float* from = all.data() + std::min(record, records_ - 1) * elements;
      for (std::int64_t e = 0; e < elements; ++e) x[e * count + lane] += std::fabs(scale) * from[e];
    }
  }

  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override {
    return second_->whiten(points, elements, gradients);
  }
  void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const override {
    second_->variances(points, elements, variance);
  }
  GaussianView gaussian() const override {
    return {GaussianView::Kind::approximate, "recorded deviations approximated as Gaussian with the same second moments"};
  }

 private:
  PerPoint rows_;
  std::shared_ptr<const NoiseShape> second_;
  std::string name_;
  std::int64_t records_;
};

}  // namespace

std::shared_ptr<const NoiseShape> recorded_noise(const NoiseArray& deviations, std::string name) {
  const Shape& shape = deviations.shape;
  const bool varies = shape.size() == 3;
  if ((!varies && shape.size() != 2) || element_count(shape) == 0)
    refuse_shape(deviations, "give deviations [M, d], or [N, M, d] with a set for each point");
  for (const double value : deviations.values) {
    if (!std::isfinite(static_cast<float>(value)))
      throw Error{ErrorCode::unreadable, deviations.where, "contains a non-finite value", "remove such deviations"};
  }
  const std::int64_t d = shape.back(), m = shape[shape.size() - 2];
  PerPoint rows{{deviations.values.begin(), deviations.values.end()}, d, m * d, varies, deviations.where};
  return std::make_shared<const Recorded>(std::move(rows), second_moments(deviations), std::move(name));
}

}  // namespace probust
