// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "probust/base/linear_algebra.h"

namespace probust {

/// Scrambled Sobol points (Sobol 1967; Owen, "Randomly permuted (t,m,s)-nets and (t,s)-sequences", 1995), as standard normals.
/// Each point by itself is a normal draw; together they are spread more evenly than independent draws.
class SobolNormals {
 public:
  static constexpr std::int64_t kMostDimensions = 21;

  /// A design of points in 1 to kMostDimensions dimensions. Designs with different seeds are independent.
  SobolNormals(std::int64_t dimensions, std::uint64_t seed);

  std::int64_t dimensions() const { return static_cast<std::int64_t>(axes_.size()); }

  /// Coordinate `dimension` of point `number`, less than 2^32.
  double normal(std::uint32_t number, std::int64_t dimension) const;

  /// [count, dimensions] The first points.
  Eigen::MatrixXd first(std::int64_t count) const;

 private:
  struct Axis {
    std::uint32_t direction[32];
    std::uint32_t scramble;
  };
  std::vector<Axis> axes_;
};

/// The seed of a design: different for each number, and independent of the draws of noise with the same seed.
std::uint64_t design_seed(std::uint64_t seed, std::uint64_t number);

}  // namespace probust
