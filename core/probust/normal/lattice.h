// SPDX-License-Identifier: MIT
//
// Shifted rank-1 lattices: the quasi-random points of every sampling method in this directory.
#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <span>

#include "probust/base/host_device.h"
#include "probust/normal/arena.h"
#include "probust/normal/rational.h"

namespace probust::normal {

/// Points are evaluated this many at a time, so that the loops over them have a fixed length and vectorise.
inline constexpr int kLanes = 32;
using Lanes = std::array<double, kLanes>;

/// Number of random shifts. Each gives an independent unbiased estimate; their scatter gives the error.
inline constexpr int kShifts = 8;

/// The lattice with 2^k points, for any k up to 15. The points of one level are among those of the next, so doubling evaluates
/// only the new ones. Coordinates are folded by the tent map, which makes the rule second order for smooth integrands that are
/// not periodic. They lie strictly inside (0, 1).
class ShiftedLattice {
 public:
  static constexpr std::int64_t kMaxPoints = 1 << 15;  ///< points per shift

  /// The memory of `arena` must outlive this object.
  ShiftedLattice(int dimension, std::uint64_t seed, Arena& arena);

  /// One block of points. A point is given by its fraction, the index divided by the number of points. Lane i has shift i %
  /// kShifts, so the offsets are the same in every block.
  struct Block {
    Lanes fraction;
  };

  /// Coordinate `axis` of the points of a block.
  void coordinate(int axis, const Block& block, Lanes& u) const;

  /// A coordinate of a point, from the point's fraction and the axis's entries in generator() and shifts().
  PROBUST_HOST_DEVICE static double folded(double fraction, double generator, double shift) {
    constexpr double kRound = 0x1.8p52, kLeast = 0x1p-53;
    const double x = fraction * generator + shift, nearest = (x + kRound) - kRound;
    const double tent = 2.0 * std::abs(x - nearest);  // the tent map of x - floor(x)
    return rational::smaller(rational::larger(tent, kLeast), 1.0 - kLeast);
  }
  std::span<const double> generator() const { return generator_; }  ///< one number per axis
  std::span<const double> shifts() const { return shifts_; }        ///< [axis][shift]

 private:
  std::span<double> generator_;  ///< one number per axis
  std::span<double> shifts_;     ///< [axis][shift]
};

/// Thrown to end a sum over a lattice when a stop is requested. It is always caught within this directory.
struct Stopped {};

/// Evaluates a function at the points of a lattice, level by level, and computes the mean and its error.
class LatticeMean {
 public:
  /// `points` is the number per shift at the first level: a power of two, at least kLanes / kShifts.
  explicit LatticeMean(std::int64_t points) : next_(points) {}

  /// Evaluates the next level. `evaluate(block, p, q)` computes the integrand and its complement for a block. Throws Stopped if
  /// `stop` is set.
  template <class Evaluate>
  void refine(const Evaluate& evaluate, const std::atomic<bool>* stop = nullptr);

  /// The new points of the next level: point i has the fraction (first + i * stride) / whole.
  struct Level {
    std::int64_t first, stride, points, whole;
  };
  Level next_level() const { return {count_ == 0 ? 0 : 1, count_ == 0 ? 1 : 2, next_ - count_, next_}; }
  /// Adds a level's results: the sums over its points for each shift.
  void add(const std::array<double, kShifts>& p, const std::array<double, kShifts>& q);

  bool exhausted() const { return count_ >= ShiftedLattice::kMaxPoints; }
  std::int64_t points() const { return count_ * kShifts; }
  std::int64_t next_points() const { return (next_ - count_) * kShifts; }
  double p() const { return mean(sum_p_); }
  double q() const { return mean(sum_q_); }
  /// Standard error of the mean over shifts.
  double standard_error() const;

 private:
  double mean(const std::array<double, kShifts>& sums) const;

  std::int64_t count_ = 0, next_;
  std::array<double, kShifts> sum_p_{}, sum_q_{};
};

/// Reported errors are this many standard errors over the 8 shifts (Student, 7 degrees of freedom: 99.8%).
inline constexpr double kErrorFactor = 5.0;

template <class Evaluate>
void LatticeMean::refine(const Evaluate& evaluate, const std::atomic<bool>* stop) {
  // After the first level, the new points are those with an odd index.
  const Level level = next_level();
  ShiftedLattice::Block block;
  Lanes p, q;
  std::array<double, kShifts> sum_p{}, sum_q{};
  constexpr int kPointsABlock = kLanes / kShifts;
  const double step = 1.0 / static_cast<double>(level.whole);
  for (std::int64_t start = 0; start < level.points; start += kPointsABlock) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::int64_t index = level.first + level.stride * (start + lane / kShifts);
      block.fraction[lane] = static_cast<double>(index) * step;
    }
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw Stopped{};
    evaluate(block, p, q);
    for (int lane = 0; lane < kLanes; ++lane) {
      sum_p[lane % kShifts] += p[lane];
      sum_q[lane % kShifts] += q[lane];
    }
  }
  add(sum_p, sum_q);
}

}  // namespace probust::normal
