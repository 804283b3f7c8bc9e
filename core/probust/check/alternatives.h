// SPDX-License-Identifier: MIT
//
// The usual ways to turn stored values into a model's input.
#pragma once

#include <string>
#include <vector>

#include "probust/check/check.h"
#include "probust/check/transform.h"

namespace probust {

/// Statistics of the stored values.
struct Values {
  float low = 0, high = 0;  ///< smallest and largest finite value; low > high if there are none
  bool whole = true;        ///< whether all values are integers
  bool finite = true;
  bool image = false;         ///< whether points are images, according to their shape or that of the input
  bool standardised = false;  ///< whether points are table rows whose columns have means near 0 and deviations near 1
  double full = 0;  ///< the value of a white pixel: 1, 100, 255 or 65535; 0 if points are not images, or if it is unknown
};
Values values_of(const CheckInput& input);

/// The name of the alternative with pixels in 0..1.
inline constexpr const char* kUnitPixels = "pixels in 0..1";

/// A transform, with the options that turn the given transform into it.
struct Way {
  std::string name;
  int complexity = 0;  ///< among equally good alternatives, the one with the lowest complexity is preferred
  Transform transform;
  CheckOptions options;
  std::string remedy = {};  ///< what to do if no option gives this transform
};

/// The transform given by the user.
Way given_way(const CheckInput& input);

/// The alternatives. other_preprocessing returns those with the given layout, other_layouts those with the given preprocessing
/// and another order of channels or axes. Duplicates are removed.
/// Duplicates are removed.
std::vector<Way> other_preprocessing(const CheckInput& input, const Values& values);
std::vector<Way> other_layouts(const CheckInput& input, const Values& values);

/// The preprocessing of the first argument with the layout of the second.
Way combined(const Way& preprocessing, const Way& layout);

/// The values as text, with at most six significant digits: "0.4914,0.4822,0.4465".
std::string short_list(const std::vector<double>& values);

}  // namespace probust
