// SPDX-License-Identifier: MIT
//
// Dunnett and Sobel, "Approximations to the probability integral and certain percentage points of a multivariate analogue of
// Student's t-distribution", Biometrika 42 (1955): given T the variables are independent.
#include "probust/normal/one_factor.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "probust/normal/bivariate.h"
#include "probust/normal/lanes.h"
#include "probust/normal/univariate.h"

namespace probust::normal {
namespace {

/// The product of independent probabilities and its complement, given T = t. Complements add up as they fall due, all positive.
class GivenFactor {
 public:
  GivenFactor(const Eigen::VectorXd& z, const Eigen::VectorXd& loading) : count_(z.size()) {
    blocks_.resize((count_ + kLanes - 1) / kLanes);
    for (auto& block : blocks_) block.z.fill(rational::kFar), block.loading.fill(0.0);
    for (Eigen::Index i = 0; i < count_; ++i) {
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
      const int used = static_cast<int>(std::min<Eigen::Index>(kLanes, count_ - static_cast<Eigen::Index>(b) * kLanes));
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
  Eigen::Index count_;
  std::vector<Block> blocks_;
};

/// Where a variable that is nearly a function of T passes its limit.
std::vector<double> sharp_places(const Eigen::VectorXd& z, const Eigen::VectorXd& loading) {
  constexpr std::size_t kMost = 48;
  std::vector<double> marks;
  for (Eigen::Index i = 0; i < z.size() && marks.size() < kMost; ++i) {
    if (std::abs(loading[i]) < 0.95) continue;
    const double own = std::sqrt(std::max(0.0, (1.0 - loading[i]) * (1.0 + loading[i])));
    for (const double width : {-6.0, 0.0, 6.0}) marks.push_back((z[i] + width * own) / loading[i]);
  }
  return marks;
}

}  // namespace

std::optional<OneFactor> fit_one_factor(const Eigen::MatrixXd& R, double tolerance) {
  const Eigen::Index m = R.rows();
  if (m < 3 || R(1, 2) == 0.0) return std::nullopt;
  const double square = R(0, 1) * R(0, 2) / R(1, 2);
  if (!(square > 0.0 && square <= 1.0 + 1e-9)) return std::nullopt;
  OneFactor factor{R.col(0) / std::sqrt(square), 0.0};
  factor.loading[0] = std::sqrt(square);
  for (Eigen::Index j = 0; j < m; ++j) {
    if (!(std::abs(factor.loading[j]) <= 1.0 + 1e-9)) return std::nullopt;
    factor.loading[j] = std::clamp(factor.loading[j], -1.0, 1.0);
  }
  for (Eigen::Index j = 0; j < m; ++j) {
    for (Eigen::Index i = 0; i < j; ++i) {
      factor.residual = std::max(factor.residual, std::abs(R(i, j) - factor.loading[i] * factor.loading[j]));
    }
    if (!(factor.residual <= tolerance)) return std::nullopt;
  }
  return factor;
}

double one_factor_bias(const Eigen::VectorXd& z, const OneFactor& factor) {
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
  for (Eigen::Index j = 1; j < z.size(); ++j) {
    const double limit = std::max(0.0, z[j]);
    sum += static_cast<double>(j) * std::exp(-0.5 * limit * limit);
  }
  return factor.residual * sum / (2.0 * std::numbers::pi * spread);
}

Integral one_factor(const Eigen::VectorXd& z, const Eigen::VectorXd& loading) {
  const double floor = complement(z.minCoeff());
  return integrate(GivenFactor(z, loading), density_panels(38.0, floor, sharp_places(z, loading)), floor);
}

}  // namespace probust::normal
