// SPDX-License-Identifier: MIT
//
// Dunnett and Sobel, "Approximations to the probability integral and certain percentage points of a multivariate analogue of
// Student's t-distribution", Biometrika 42 (1955): given T the variables are independent.
#include "probust/normal/one_factor.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "probust/normal/bivariate.h"
#include "probust/normal/univariate.h"
#include "probust/normal/vector_math.h"

namespace probust::normal {
namespace {

/// The product of independent probabilities and its complement, given T = t. The complement is a sum of positive terms.
class GivenFactor {
 public:
  GivenFactor(std::span<const double> z, std::span<const double> loading, Arena& arena)
      : count_(z.size()), blocks_(arena.take<Block>((count_ + kLanes - 1) / kLanes)) {
    for (Block& block : blocks_) block.z.fill(rational::kFar), block.loading.fill(0.0);
    for (std::size_t i = 0; i < count_; ++i) {
      const double own = std::sqrt(std::max((1.0 - loading[i]) * (1.0 + loading[i]), 1e-300));
      blocks_[i / kLanes].z[i % kLanes] = z[i] / own;
      blocks_[i / kLanes].loading[i % kLanes] = loading[i] / own;
    }
  }

  Bivariate operator()(double t) const {
    Lanes x, below, above;
    const double density = pdf(t);
    double p = 1.0, q = 0.0;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const Block& block = blocks_[b];
      for (int i = 0; i < kLanes; ++i) x[i] = block.z[i] - block.loading[i] * t;
      cdf_lanes(x, below, above);
      const int used = static_cast<int>(std::min<std::size_t>(kLanes, count_ - b * kLanes));
      for (int i = 0; i < used; ++i) {
        q += p * above[i];
        p *= below[i];
      }
    }
    return {density * p, density * q};
  }

 private:
  struct Block {
    Lanes z, loading;
  };
  std::size_t count_;
  std::span<Block> blocks_;
};

/// The values of T at which variables that are nearly functions of T reach their limits. If there are many, only those that bound
/// T most tightly from above and from below.
Breaks sharp_places(std::span<const double> z, std::span<const double> loading, Arena& arena) {
  constexpr double kSharp = 0.95;
  constexpr std::size_t kMost = 24;  // on each side
  const Arena::Scope scope(arena);
  const std::span<std::size_t> sharp = arena.take<std::size_t>(z.size());
  std::size_t upper = 0, lower = z.size();
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (loading[i] > kSharp) sharp[upper++] = i;
    if (loading[i] < -kSharp) sharp[--lower] = i;
  }
  const auto tighter = [&](std::size_t i, std::size_t j) { return z[i] / std::abs(loading[i]) < z[j] / std::abs(loading[j]); };
  Breaks marks;
  for (const std::span<std::size_t> side : {sharp.first(upper), sharp.subspan(lower)}) {
    const std::size_t count = std::min(kMost, side.size());
    std::partial_sort(side.begin(), side.begin() + static_cast<std::ptrdiff_t>(count), side.end(), tighter);
    for (const std::size_t i : side.first(count)) {
      const double own = std::sqrt(std::max(0.0, (1.0 - loading[i]) * (1.0 + loading[i])));
      for (const double width : {-6.0, 0.0, 6.0}) marks.add((z[i] + width * own) / loading[i]);
    }
  }
  return marks;
}

}  // namespace

std::optional<OneFactor> fit_one_factor(const Orthant& orthant, double tolerance, Arena& arena) {
  const Eigen::Index m = orthant.size;
  if (m < 3 || orthant.rho(1, 2) == 0.0) return std::nullopt;
  const double square = orthant.rho(0, 1) * orthant.rho(0, 2) / orthant.rho(1, 2);
  if (!(square > 0.0 && square <= 1.0 + 1e-9)) return std::nullopt;
  const std::span<double> loading = arena.take<double>(m);
  for (Eigen::Index j = 0; j < m; ++j) {
    const double fitted = j == 0 ? std::sqrt(square) : orthant.rho(j, 0) / std::sqrt(square);
    if (!(std::abs(fitted) <= 1.0 + 1e-9)) return std::nullopt;
    loading[j] = std::clamp(fitted, -1.0, 1.0);
  }
  double residual = 0.0;
  for (Eigen::Index j = 0; j < m; ++j) {
    for (Eigen::Index i = 0; i < j; ++i) residual = std::max(residual, std::abs(orthant.rho(i, j) - loading[i] * loading[j]));
    if (!(residual <= tolerance)) return std::nullopt;
  }
  return OneFactor{loading, residual};
}

double one_factor_bias(std::span<const double> z, const OneFactor& factor) {
  // |dp / drho_ij| is the bivariate density, at most exp(-max(z_i, z_j)^2 / 2) / (2 pi sqrt(1 - rho^2)) for positive limits.
  double largest = 0.0, second = 0.0;
  for (const double loading : factor.loading) {
    const double size = std::abs(loading);
    if (size > largest) {
      second = largest;
      largest = size;
    } else {
      second = std::max(second, size);
    }
  }
  const double rho = std::min(1.0, largest * second + factor.residual);
  const double spread = std::sqrt(std::max((1.0 - rho) * (1.0 + rho), 1e-16));
  double sum = 0.0;
  for (std::size_t j = 1; j < z.size(); ++j) {
    const double limit = std::max(0.0, z[j]);
    sum += static_cast<double>(j) * std::exp(-0.5 * limit * limit);
  }
  return factor.residual * sum / (2.0 * std::numbers::pi * spread);
}

Integral one_factor(std::span<const double> z, std::span<const double> loading, Arena& arena) {
  const Arena::Scope scope(arena);
  const double floor = complement(*std::min_element(z.begin(), z.end()));
  const Breaks marks = sharp_places(z, loading, arena);
  return integrate(GivenFactor(z, loading, arena), density_panels(38.0, floor, marks.all()), floor);
}

}  // namespace probust::normal
