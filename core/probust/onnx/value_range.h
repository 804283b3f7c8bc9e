// SPDX-License-Identifier: MIT
#pragma once

#include <limits>
#include <map>

#include "probust/graph/graph.h"

namespace probust::onnx {

/// An interval that contains every element of a value for all inputs.
struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();

  bool within(double least, double most) const { return low >= least && high <= most; }
};

/// Interval arithmetic on a graph, evaluated on demand: a sigmoid is in 0..1 for any input, and so is a mean of sigmoids.
/// Values that depend on an unbounded input through products or convolutions are unbounded.
class Ranges {
 public:
  explicit Ranges(const Graph& graph) : graph_(graph) {}

  Range of(ValueId id) { return of(id, 0); }

 private:
  Range of(ValueId id, int depth);
  Range compute(ValueId id, int depth);

  const Graph& graph_;
  std::map<ValueId, Range> known_;
};

}  // namespace probust::onnx
