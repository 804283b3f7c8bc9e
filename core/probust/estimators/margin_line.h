// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "probust/estimators/estimate.h"

namespace probust {

/// The margins of a point over its rivals as functions of one standard normal t, interpolated between nodes. Fritsch and
/// Butland's piecewise cubics ("A method for constructing local monotone piecewise cubic interpolants", SIAM J. Sci. Stat.
/// Comput. 1984) are monotone between nodes, so a margin changes sign at most once there. Beyond the outer nodes, margins are
/// constant.
class MarginLine {
 public:
  /// Adds a node with the margins over all rivals. Nodes differ.
  void add(double t, std::vector<float> margins);

  std::int64_t nodes() const { return static_cast<std::int64_t>(t_.size()); }

  /// Where to evaluate the margins next: in the interval whose part of p is the least certain; `doubt` is that part.
  struct Next {
    double t, doubt;
  };
  Next next_node() const;

  /// p and p_fail, and their interval.
  Estimate estimate() const;

 private:
  struct Interval {
    std::size_t left;  // the node at its lower end; or the node of a tail
    int tail;          // -1 and 1: beyond the first or the last node
    double mass;       // its probability
    double doubt;      // the probability in it that may be on the wrong side
    bool changes;      // whether the target survives at one end only
  };
  std::vector<Interval> intervals() const;
  double smallest(std::size_t node) const;
  double largest_change(std::size_t left) const;
  double inside(std::size_t left, bool survivors) const;
  double crossing(std::size_t left, std::size_t rival) const;
  double slope(std::size_t node, std::size_t rival) const;

  std::vector<double> t_;                    // ascending
  std::vector<std::vector<float>> margins_;  // [nodes][rivals]
};

}  // namespace probust
