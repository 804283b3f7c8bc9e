// SPDX-License-Identifier: MIT
//
// Cools, Kuo and Nuyens, "Constructing embedded lattice rules for multivariate integration", SIAM J. Sci. Comput. 28 (2006),
// for the criterion; Hickernell, "Obtaining O(N^(-2+eps)) convergence for lattice quadrature rules" (2002), for the tent map.
#include "probust/normal/lattice.h"

#include <algorithm>
#include <iterator>

namespace probust::normal {
namespace {

/// Generating vector, chosen component by component for all levels from 2^4 to 2^15 points together (order-2 kernel, product
/// weights 0.15 / sqrt(j)).
constexpr int kGenerator[] = {
    1,     12951, 2937,  9691,  4555,  4049,  10861, 14709, 13351, 6243,  15695, 1567,  4227,  213,   6969,  9769,
    12787, 6941,  11105, 4009,  11209, 12005, 14099, 9147,  14029, 10975, 6159,  9461,  11517, 3495,  10085, 517,
    12861, 14997, 10409, 6565,  12607, 1555,  6533,  5331,  9101,  2129,  16247, 2551,  16183, 2823,  12093, 14859,
    1709,  15631, 15539, 4507,  4447,  7357,  12469, 3727,  13791, 7945,  1451,  14651, 13473, 9989,  13677, 3279,
    7637,  3401,  5445,  14347, 12941, 10685, 15463, 11705, 7075,  15393, 6481,  4269,  15875, 5085,  15063, 2463,
    5587,  8255,  14361, 8571,  3985,  1301,  3243,  431,   1287,  11339, 2167,  1461,  11413, 1149,  675,   2995,
    5799,  4579,  12915, 1041,  12883, 5919,  3909,  13803, 13043, 5835,  669,   4117,  11273, 453,   10311, 3023,
    10917, 16239, 12505, 9679,  3101,  4935,  1787,  3863,  10331, 3737,  9959,  2697,  2965,  14841, 14729, 14503};

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Later axes have little influence, so any odd number works.
double generating_number(int axis) {
  if (axis < static_cast<int>(std::size(kGenerator))) return kGenerator[axis];
  return static_cast<double>((mix(axis) | 1) % ShiftedLattice::kMaxPoints);
}

}  // namespace

ShiftedLattice::ShiftedLattice(int dimension, std::uint64_t seed, Arena& arena)
    : generator_(arena.take<double>(dimension)), shifts_(arena.take<double>(static_cast<std::size_t>(dimension) * kShifts)) {
  for (int axis = 0; axis < dimension; ++axis) generator_[axis] = generating_number(axis);
  std::uint64_t state = mix(seed);
  for (double& shift : shifts_) {
    state = mix(state);
    shift = (static_cast<double>(state >> 12) + 0.5) * 0x1p-52;
  }
}

void ShiftedLattice::coordinate(int axis, const Block& block, Lanes& u) const {
  const double step = generator_[axis];
  const double* shift = &shifts_[static_cast<std::size_t>(axis) * kShifts];
  const double* fraction = block.fraction.data();  // GCC 12 does not vectorise through std::array
  double* out = u.data();
  for (int start = 0; start < kLanes; start += kShifts) {
    for (int i = 0; i < kShifts; ++i) out[start + i] = folded(fraction[start + i], step, shift[i]);
  }
}

void LatticeMean::add(const std::array<double, kShifts>& p, const std::array<double, kShifts>& q) {
  for (int shift = 0; shift < kShifts; ++shift) {
    sum_p_[shift] += p[shift];
    sum_q_[shift] += q[shift];
  }
  count_ = next_;
  next_ *= 2;
}

double LatticeMean::mean(const std::array<double, kShifts>& sums) const {
  double sum = 0.0;
  for (const double each : sums) sum += each;
  return sum / static_cast<double>(count_ * kShifts);
}

double LatticeMean::standard_error() const {
  // Uses the scatter of the smaller one of p and q. Both have the same scatter, because p + q is constant, but the smaller one
  // has the smaller rounding error.
  const auto& sums = p() < q() ? sum_p_ : sum_q_;
  const double centre = mean(sums);
  double squares = 0.0;
  for (const double each : sums) {
    const double gap = each / static_cast<double>(count_) - centre;
    squares += gap * gap;
  }
  return std::sqrt(squares / (kShifts * (kShifts - 1)));
}

}  // namespace probust::normal
