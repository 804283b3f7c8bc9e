// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace probust {

/// Which draws to make: lane i gets sample samples[i] of point points[i]. A lane's noise depends on these and the seed alone.
struct NoiseLanes {
  std::uint64_t seed = 0;
  std::span<const std::uint32_t> points;
  std::span<const std::uint32_t> samples;
};

/// The shape of a noise distribution at unit scale: how to draw from it, and how it turns margin gradients into a covariance.
/// One file per model; all_noise.cpp lists them.
class NoiseShape {
 public:
  virtual ~NoiseShape() = default;

  /// The name in the canonical text, as in "gaussian:0.1".
  virtual std::string name() const = 0;

  /// Adds `scale` times one unit draw per lane to x, laid out [elements][lanes].
  virtual void add(const NoiseLanes& lanes, std::int64_t elements, float scale, float* x) const = 0;

  /// Turns margin gradients U (laid out [elements][lanes]) in place into U L, where L Lᵀ is the covariance at unit scale, so that
  /// their Gram matrix is the covariance of the linearised margins (Lemma 1 of Han et al., appendix A.1 for U C Uᵀ).
  virtual void whiten(std::int64_t elements, std::int64_t lanes, float* gradients) const = 0;
};

/// A noise model: a shape and a scale. Everything that a shape determines is computed once for all scales.
struct Noise {
  std::shared_ptr<const NoiseShape> shape;
  double scale = 1;  ///< sigma, in the units of the natural space

  /// Canonical text, e.g. "gaussian:0.1".
  std::string text() const;
};

/// Isotropic Gaussian noise of unit standard deviation per element.
std::shared_ptr<const NoiseShape> isotropic_gaussian();

/// Reads "gaussian:0.1". Throws Error{usage} naming what would be right; scales must be positive and finite.
Noise parse_noise(const std::string& text);

}  // namespace probust
