// SPDX-License-Identifier: MIT
// Independent Gaussian noise with a standard deviation for each element, either one set for all points or one per point.
#include <cmath>

#include "probust/noise/arrays.h"
#include "probust/noise/draws.h"

namespace probust {
namespace {

class Diagonal final : public ArrayGaussian {
 public:
  using ArrayGaussian::ArrayGaussian;  // rows: deviations [d] per point

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    std::vector<float> z(static_cast<std::size_t>(elements) * lanes.points.size(), 0.0F);
    draws::add_normal(lanes, elements, scale, z.data());
    for_each(lanes.points, elements, [&](std::int64_t i, float deviation) { x[i] += deviation * z[i]; });
  }

  std::optional<ElementNoise> by_element() const override {
    return ElementNoise{ElementNoise::Draw::normal, 1, rows().values, rows().varies};
  }

  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override {
    for_each(points, elements, [&](std::int64_t i, float deviation) { gradients[i] *= deviation; });
    return elements;
  }

  std::optional<std::int64_t> normals(std::int64_t elements) const override { return elements; }
  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    for_each(points, elements, [&](std::int64_t i, float deviation) { x[i] += scale * deviation * w[i]; });
  }

  void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const override {
    for_each(points, elements, [&](std::int64_t i, float deviation) { variance[i] *= deviation * deviation; });
  }

 private:
  template <class Visit>
  void for_each(std::span<const std::uint32_t> points, std::int64_t elements, Visit visit) const {
    const auto lanes = static_cast<std::int64_t>(points.size());
    const float* deviation = rows().values.data();
    for (std::int64_t e = 0; e < elements; ++e) {
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const std::int64_t row = rows().varies ? std::int64_t{points[lane]} * elements : 0;
        visit(e * lanes + lane, deviation[row + e]);
      }
    }
  }
};

}  // namespace

std::shared_ptr<const NoiseShape> diagonal_gaussian(const NoiseArray& deviations, std::string name) {
  const std::string hint = "give standard deviations [d], or [N, d] per point";
  if (deviations.shape.empty() || deviations.shape.size() > 2) refuse_shape(deviations, hint);
  for (const double value : deviations.values) {
    if (!std::isfinite(value) || value < 0) {
      throw Error{ErrorCode::unreadable, deviations.where, "contains a negative or non-finite value", hint};
    }
  }
  const std::int64_t d = deviations.shape.back();
  PerPoint rows{std::vector<float>(deviations.values.begin(), deviations.values.end()), d, d, deviations.shape.size() == 2,
                deviations.where};
  return std::make_shared<const Diagonal>(std::move(rows), std::move(name));
}

}  // namespace probust
