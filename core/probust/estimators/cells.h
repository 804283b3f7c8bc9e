// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

// Cells of a line or a plane of standard normal variables, and their probability where margins are positive, for `quadrature`.
namespace probust {

/// An interval or a square.
struct NormalCell {
  std::int64_t dimensions = 1;
  double x = 0, y = 0, width = 0;
  double mass = 0;  ///< probability, of an outermost cell with everything beyond it
};

/// Positions on one axis, in steps so fine that cells can be halved: `cells` cells of `unit` steps over ±8. The first and last
/// cell extend to infinity.
class NormalAxis {
 public:
  explicit NormalAxis(std::int64_t cells);

  std::int64_t unit() const { return std::int64_t{1} << shift_; }
  std::int64_t end() const { return cells_ << shift_; }
  /// Whether a step is an end of cells, and the number of the cell that begins there.
  bool between_cells(std::int64_t step) const { return (step & (unit() - 1)) == 0; }
  std::int64_t cell(std::int64_t step) const { return step >> shift_; }
  double at(std::int64_t step) const;
  /// The probability of the steps from `first` to first + size.
  double mass(std::int64_t first, std::int64_t size) const;

 private:
  double computed_mass(std::int64_t first, std::int64_t size) const;

  std::int64_t cells_;
  int shift_ = 0;
  std::vector<double> masses_;  // of the cells
};

/// Margins at the corners of a cell: at the two ends of an interval, or at (0,0), (1,0), (0,1) and (1,1) of a square. Margins
/// are linear on an interval, and on the two halves of a square, which meet along the diagonal from (1,0) to (0,1).
struct CornerMargins {
  std::array<const float*, 4> at{};
  std::int64_t corners = 2;
  std::span<const float> errors;  ///< by how much each margin may differ from the linear one
};

/// 1 if, with `sign` times its error added, every margin is positive at all corners; -1 if some margin is positive at no corner;
/// otherwise 0.
int side(const CornerMargins& margins, double sign);

/// The probabilities of the part of a cell where all margins are positive, and of the rest.
struct CellMass {
  double inside = 0, outside = 0;
};

/// With `sign` times its error added to each margin.
CellMass mass_of(const NormalCell& cell, const CornerMargins& margins, double sign);

}  // namespace probust
