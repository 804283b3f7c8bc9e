// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cuda/device.h"
#include "cuda/kernels.h"
#include "probust/exec/batch_device.h"

namespace probust::cuda {

/// The points of a call on the device, and their noise. The noise is drawn on the device or, if its elements depend on each
/// other or there is no kernel for them, on the host.
class NoiseOnDevice final : public PlacedPoints {
 public:
  NoiseOnDevice(Device& device, const Points& points, const NoiseShape& shape, std::int64_t elements);

  bool drawn_on_the_host() const { return !by_element_; }
  /// Writes noisy samples [lanes][elements].
  void draw(const SampleRange& range, float* to) const;
  /// Mirrors the noisy samples at their points.
  void reflect(const SampleRange& range, float* to) const;
  /// Whitens gradients [lanes][elements]. Lane l belongs to the point at position index[l % index.size()] of the data. `there`
  /// is a copy of `index` on the device.
  void whiten(std::span<const std::int64_t> index, const std::uint32_t* there, std::int64_t lanes, float* gradients) const;
  /// Describes the samples for kernels.
  DeviceRange on_device(const SampleRange& range) const;

 private:
  void draw_on_the_host(const SampleRange& range, float* to) const;
  void whiten_on_the_host(std::span<const std::int64_t> index, std::int64_t lanes, float* gradients) const;

  Device& device_;
  std::int64_t elements_;
  Array<float> x_;              // [points][elements]
  Array<std::uint32_t> index_;  // [points]
  Array<std::uint32_t> draws_;  // [pairs][points]
  std::optional<ElementNoise> by_element_;
  Array<float> deviations_;
};

/// The variances [points][elements] of the noise at the points at positions `index` of the data, on the host.
std::vector<float> variances_of(const Noise& noise, std::span<const std::int64_t> index, std::int64_t elements);

}  // namespace probust::cuda
