// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

// The cells into which `quadrature` divides a line or a plane of standard normal variables, and the probability of the part of
// a cell in which all margins are positive.
namespace probust {

/// A cell: an interval or, in two dimensions, a square.
struct NormalCell {
  std::int64_t dimensions = 1;
  double x = 0, y = 0, width = 0;  ///< lower ends and side
  double mass = 0;                 ///< normal probability; for an outermost cell, this includes everything beyond it
};

/// Positions on one axis, counted in steps. The range ±8 has `cells` cells of unit() steps each, so that cells can be halved
/// repeatedly. The first and the last cell extend to infinity.
class NormalAxis {
 public:
  explicit NormalAxis(std::int64_t cells);

  std::int64_t unit() const { return std::int64_t{1} << shift_; }
  std::int64_t end() const { return cells_ << shift_; }
  /// Whether a position is a boundary between cells of unit() steps.
  bool between_cells(std::int64_t step) const { return (step & (unit() - 1)) == 0; }
  /// The index of the cell that contains this position or begins at it.
  std::int64_t cell(std::int64_t step) const { return step >> shift_; }
  /// The value of the normal variable at a position.
  double at(std::int64_t step) const;
  /// The probability between the positions `first` and first + size.
  double mass(std::int64_t first, std::int64_t size) const;

 private:
  double computed_mass(std::int64_t first, std::int64_t size) const;

  std::int64_t cells_;
  int shift_ = 0;
  std::vector<double> masses_;  // probabilities of the cells of unit() steps
};

/// Margins at the corners of a cell: at the two ends of an interval, or at (0,0), (1,0), (0,1) and (1,1) of a square. Between
/// corners, margins are taken to be linear: on an interval, or on each half of a square. The halves of a square meet along the
/// diagonal from (1,0) to (0,1).
struct CornerMargins {
  std::array<const float*, 4> at{};
  std::int64_t corners = 2;
  std::span<const float> errors;  ///< bound on the interpolation error of each margin
};

/// Whether all margins, plus `sign` times their errors, are positive: 1 if they are at all corners, -1 if some margin is positive
/// at no corner, otherwise 0.
int side(const CornerMargins& margins, double sign);

/// The probabilities of the part of a cell in which all margins are positive, and of the rest of the cell.
struct CellMass {
  double inside = 0, outside = 0;
};

/// The probabilities for a cell, with `sign` times its error added to each margin.
CellMass mass_of(const NormalCell& cell, const CornerMargins& margins, double sign);

}  // namespace probust
