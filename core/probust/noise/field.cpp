// SPDX-License-Identifier: MIT
// Gaussian noise that is correlated along the last axis: u_0 = w_0 and u_e = r u_(e-1) + sqrt(1 - r²) w_e with independent
// standard normals w and r = e^(-1 / length), so that values k apart have the correlation e^(-k / length).
#include <cmath>

#include "probust/base/text.h"
#include "probust/noise/draws.h"
#include "probust/noise/noise.h"

namespace probust {
namespace {

class Field final : public NoiseShape {
 public:
  explicit Field(double length, std::int64_t row = 0)
      : length_(length),
        row_(row),
        before_(static_cast<float>(std::exp(-1 / length))),
        own_(static_cast<float>(std::sqrt(-std::expm1(-2 / length)))) {}

  std::string name() const override { return "field:length=" + shortest_text(length_); }
  std::string text(double scale) const override { return "field:" + shortest_text(scale) + ":length=" + shortest_text(length_); }
  bool mirrored() const override { return true; }

  // Without a shape, a point is one row.
  std::shared_ptr<const NoiseShape> bound(const Shape& point) const override {
    return row_ > 0 || point.empty() ? nullptr : std::make_shared<const Field>(length_, point.back());
  }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    std::vector<float> w(static_cast<std::size_t>(elements) * lanes.points.size(), 0.0F);
    draws::add_normal(lanes, elements, 1, w.data());
    add_normals(lanes.points, elements, scale, w.data(), x);
  }

  std::optional<std::int64_t> normals(std::int64_t elements) const override { return elements; }
  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    const auto lanes = static_cast<std::int64_t>(points.size());
    std::vector<float> u(points.size());
    for (std::int64_t e = 0; e < elements; ++e, w += lanes, x += lanes) {
      const bool first = begins_row(e);
      for (std::int64_t i = 0; i < lanes; ++i) {
        u[i] = first ? w[i] : before_ * u[i] + own_ * w[i];
        x[i] += scale * u[i];
      }
    }
  }

  // The gradient of w_e is that of u_e, which is g_e + r (that of u_(e+1)), times the weight of w_e in u_e.
  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override {
    const auto lanes = static_cast<std::int64_t>(points.size());
    std::vector<float> of_next(points.size(), 0.0F);
    for (std::int64_t e = elements; e-- > 0;) {
      const bool first = begins_row(e), last = e + 1 == elements || begins_row(e + 1);
      for (std::int64_t i = 0; i < lanes; ++i) {
        float& gradient = gradients[e * lanes + i];
        of_next[i] = last ? gradient : gradient + before_ * of_next[i];
        gradient = first ? of_next[i] : own_ * of_next[i];
      }
    }
    return elements;
  }

  void variances(std::span<const std::uint32_t>, std::int64_t, float*) const override {}  // all are 1

 private:
  bool begins_row(std::int64_t e) const { return row_ > 0 ? e % row_ == 0 : e == 0; }

  double length_;
  std::int64_t row_;  // 0: not bound
  float before_, own_;
};

}  // namespace

std::shared_ptr<const NoiseShape> field_noise(double length) { return std::make_shared<const Field>(length); }

}  // namespace probust
