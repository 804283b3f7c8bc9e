// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "probust/noise/noise.h"

namespace probust {

/// Noise that can only be sampled. It has neither a Gaussian approximation nor a covariance with which to whiten gradients, so
/// whitened gradients and variances are zero.
class SampledNoise : public NoiseShape {
 public:
  /// `what` names the noise in the status of estimators that need a Gaussian: "categorical noise".
  explicit SampledNoise(std::string what) : what_(std::move(what)) {}

  std::int64_t whiten(std::span<const std::uint32_t> points, std::int64_t elements, float* gradients) const override;
  void variances(std::span<const std::uint32_t> points, std::int64_t elements, float* variance) const override;
  GaussianView gaussian() const override;

 private:
  std::string what_;
};

}  // namespace probust
