// SPDX-License-Identifier: MIT
//
// The axes of a chart: ranges, ticks, and values as pixels.
#pragma once

#include <string>
#include <vector>

#include "report/plot.h"

namespace probust::report {

struct Tick {
  double value;
  std::string text;
};

/// Whether a value can be shown on the axis: finite, not so large that arithmetic on ranges overflows, and positive if the axis
/// is logarithmic.
bool shown(const Axis& axis, double value);

/// A range of values and its ticks.
struct Ruler {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<Tick> ticks{};

  /// 0 at `low`, 1 at `high`; limited to -1..2, so that infinite bounds have a position.
  double share(double value) const;
};

/// A ruler for the values on an axis; values that cannot be shown are ignored. `most` is the largest number of ticks. Ends that
/// the axis does not set are extended: to the next tick with `to_ticks`, otherwise by a small margin.
Ruler ruler(const Axis& axis, const std::vector<double>& values, int most, bool to_ticks);

/// "0.25", "1e-5", "20000": at most ten digits.
std::string number_text(double value);

}  // namespace probust::report
