// SPDX-License-Identifier: MIT
#include "probust/noise/arrays.h"

#include "probust/base/text.h"

namespace probust {

void PerPoint::fit(std::int64_t points_elements, std::int64_t points) const {
  if (elements != points_elements) {
    throw Error{ErrorCode::unreadable, where,
                "is for points of " + std::to_string(elements) + " elements, but the data's points have " +
                    std::to_string(points_elements),
                "give values for points of " + std::to_string(points_elements) + " elements"};
  }
  const std::int64_t rows = varies ? static_cast<std::int64_t>(values.size()) / std::max<std::int64_t>(1, width) : points;
  if (rows < points) {
    throw Error{ErrorCode::unreadable, where, "has rows for only " + std::to_string(rows) + " points",
                "give one row per point of the data, at least " + std::to_string(points)};
  }
}

std::string text_with_scale(const std::string& name, double scale) {
  return scale == 1 ? name : name + ":" + shortest_text(scale);
}

void refuse_shape(const NoiseArray& array, const std::string& hint) {
  throw Error{ErrorCode::unreadable, array.where, "has shape " + to_string(array.shape), hint};
}

}  // namespace probust
