// SPDX-License-Identifier: MIT
// Deviations uniform on the sphere or in the ball of radius 1: R w / |w| with d standard normals w for the sphere; the ball is
// the projection of the sphere in d + 2 dimensions to d of them. The standard deviation of a value is R / sqrt(d) and
// R / sqrt(d + 2).
#include <cmath>

#include "probust/noise/draws.h"
#include "probust/noise/noise.h"

namespace probust {
namespace {

class Ball final : public NoiseShape {
 public:
  Ball(std::string name, std::int64_t hidden) : name_(std::move(name)), hidden_(hidden) {}

  std::string name() const override { return name_; }
  bool mirrored() const override { return true; }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    const auto count = static_cast<std::int64_t>(lanes.points.size());
    std::vector<float> w(static_cast<std::size_t>((elements + hidden_) * count), 0.0F);
    draws::add_normal(lanes, elements + hidden_, 1, w.data());
    add_direction(count, elements, scale, w.data(), x);
  }

  // Only the sphere has as many normals as elements.
  std::optional<std::int64_t> normals(std::int64_t elements) const override {
    return hidden_ == 0 ? std::optional(elements) : std::nullopt;
  }
  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    add_direction(static_cast<std::int64_t>(points.size()), elements, scale, w, x);
  }

  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override {
    multiply(points, elements, std::sqrt(variance(elements)), gradients);
    return elements;
  }
  void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variances) const override {
    multiply(points, elements, variance(elements), variances);
  }
  GaussianView gaussian() const override {
    return {GaussianView::Kind::approximate, name_ + " noise approximated as Gaussian of the same covariance"};
  }

 private:
  double variance(std::int64_t elements) const { return 1 / static_cast<double>(std::max<std::int64_t>(1, elements + hidden_)); }

  // Adds scale w / |w|, with w [elements + hidden][lanes]. Points of zero normals do not move.
  void add_direction(std::int64_t count, std::int64_t elements, float scale, const float* w, float* x) const {
    std::vector<double> factor(static_cast<std::size_t>(count), 0);
    for (std::int64_t e = 0; e < elements + hidden_; ++e) {
      for (std::int64_t i = 0; i < count; ++i) factor[i] += double{w[e * count + i]} * w[e * count + i];
    }
    for (double& each : factor) each = each > 0 ? double{scale} / std::sqrt(each) : 0;
    for (std::int64_t e = 0; e < elements; ++e) {
      for (std::int64_t i = 0; i < count; ++i) x[e * count + i] += static_cast<float>(factor[i] * w[e * count + i]);
    }
  }

  static void multiply(std::span<const std::uint32_t> points, std::int64_t elements, double factor, float* values) {
    const std::int64_t count = elements * static_cast<std::int64_t>(points.size());
    for (std::int64_t i = 0; i < count; ++i) values[i] *= static_cast<float>(factor);
  }

  std::string name_;
  std::int64_t hidden_;  // additional dimensions of the sphere
};

}  // namespace

std::shared_ptr<const NoiseShape> ball_noise() { return std::make_shared<const Ball>("ball", 2); }
std::shared_ptr<const NoiseShape> sphere_noise() { return std::make_shared<const Ball>("sphere", 0); }

}  // namespace probust
