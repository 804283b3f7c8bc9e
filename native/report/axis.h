// SPDX-License-Identifier: MIT
//
// The axes of a chart: their ranges and ticks, and the positions of values on them.
#pragma once

#include <string>
#include <vector>

#include "report/plot.h"

namespace probust::report {

struct Tick {
  double value;
  std::string text;
};

/// Whether a value can be shown on the axis: it is finite, not so large that arithmetic on ranges overflows, and positive if
/// the axis is logarithmic.
bool shown(const Axis& axis, double value);

/// A range of values and its ticks.
struct Ruler {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<Tick> ticks{};

  /// The relative position of a value: 0 at `low`, 1 at `high`. It is limited to the range -1..2, so that infinite bounds have
  /// a position, too.
  double share(double value) const;
};

/// A ruler for the values on an axis; values that cannot be shown are ignored. `most` is the largest number of ticks. An end
/// that the axis does not set is extended to the next tick if `to_ticks`, and otherwise by a small margin.
Ruler ruler(const Axis& axis, const std::vector<double>& values, int most, bool to_ticks);

/// A number with at most ten digits, such as "0.25", "1e-5" or "20000".
std::string number_text(double value);

}  // namespace probust::report
