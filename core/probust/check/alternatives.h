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
  bool image = false;         ///< whether points are images, judged by their shape or that of the input
  bool standardised = false;  ///< whether points are rows of a table in which every column has mean 0 and deviation 1, roughly
  double full = 0;  ///< the value of a white pixel, 1, 100, 255 or 65535, if points are images with pixels from 0; otherwise 0
};
Values values_of(const CheckInput& input);

/// The name of the alternative with pixels in 0..1.
inline constexpr const char* kUnitPixels = "pixels in 0..1";

/// A transform, with the options by which it differs from the given one.
struct Way {
  std::string name;
  int complexity = 0;  ///< among equally good alternatives, the one with the lowest complexity is preferred
  Transform transform;
  CheckOptions options;
  std::string remedy = {};  ///< what to do if no option gives this transform
};

/// The transform given by the user.
Way given_way(const CheckInput& input);

/// The alternatives: first those with the given layout, then other orders of channels and axes with the given preprocessing.
/// Duplicates are removed.
std::vector<Way> other_preprocessing(const CheckInput& input, const Values& values);
std::vector<Way> other_layouts(const CheckInput& input, const Values& values);

/// The preprocessing of the first argument with the layout of the second.
Way combined(const Way& preprocessing, const Way& layout);

/// The values as text, with at most six significant digits: "0.4914,0.4822,0.4465".
std::string short_list(const std::vector<double>& values);

}  // namespace probust
