// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "probust/noise/draws.h"
#include "probust/noise/noise.h"

namespace probust {

/// Independent draws of one symmetric distribution with mean zero and a given unit standard deviation.
class IndependentNoise : public NoiseShape {
 public:
  IndependentNoise(std::string name, ElementNoise::Draw draw, double deviation)
      : name_(std::move(name)), draw_(draw), deviation_(static_cast<float>(deviation)) {}

  std::string name() const override { return name_; }

  void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const override {
    draws::add(draw_, lanes, elements, scale, x);
  }

  bool mirrored() const override { return true; }

  std::optional<ElementNoise> by_element() const override { return ElementNoise{draw_, deviation_}; }

  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override {
    scale_all(points, elements, deviation_, gradients);
    return elements;
  }

  void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const override {
    scale_all(points, elements, deviation_ * deviation_, variance);
  }

 private:
  static void scale_all(std::span<const std::uint32_t> points, std::int64_t elements, float factor, float* values) {
    const std::int64_t count = elements * static_cast<std::int64_t>(points.size());
    for (std::int64_t i = 0; factor != 1 && i < count; ++i) values[i] *= factor;
  }

  std::string name_;
  ElementNoise::Draw draw_;
  float deviation_;
};

/// Independent noise for which linear combinations of many elements are nearly Gaussian (central limit theorem).
class NearlyGaussian : public IndependentNoise {
 public:
  using IndependentNoise::IndependentNoise;
  GaussianView gaussian() const override {
    return {GaussianView::Kind::approximate, name() + " noise approximated as Gaussian (central limit theorem)"};
  }

  std::optional<std::int64_t> normals(std::int64_t elements) const override { return elements; }
  void add_normals(std::span<const std::uint32_t> points, std::int64_t elements, float scale, const float* w,
                   float* x) const override {
    const std::int64_t count = elements * static_cast<std::int64_t>(points.size());
    for (std::int64_t i = 0; i < count; ++i) x[i] += scale * static_cast<float>(of_normal(w[i]));
  }

 private:
  /// The value of the unit draw at the same quantile as w has in the standard normal distribution.
  virtual double of_normal(double w) const = 0;
};

}  // namespace probust
