// SPDX-License-Identifier: MIT
#include "probust/exec/points.h"

#include "probust/base/error.h"

namespace probust {

void require_equal_lengths(const Points& points) {
  if (points.x.shape.empty() || points.x.shape[0] != points.size() || points.target.size() != points.index.size())
    throw Error{ErrorCode::usage, "points", "x, index and target differ in length", ""};
}

Points slice(const Points& points, std::int64_t first, std::int64_t count) {
  require_equal_lengths(points);
  const auto part = [&](const std::vector<std::int64_t>& all) {
    return std::vector<std::int64_t>(all.begin() + first, all.begin() + first + count);
  };
  return {rows(points.x, first, count), part(points.index), part(points.target), points.seed};
}

Points select(const Points& points, std::span<const std::int64_t> which) {
  require_equal_lengths(points);
  const auto part = [&](const std::vector<std::int64_t>& all) {
    std::vector<std::int64_t> chosen;
    chosen.reserve(which.size());
    for (const std::int64_t i : which) chosen.push_back(all[i]);
    return chosen;
  };
  return {rows(points.x, which), part(points.index), part(points.target), points.seed};
}

}  // namespace probust
