// SPDX-License-Identifier: MIT
#include "probust/exec/points.h"

#include "probust/base/error.h"
#include "probust/base/select.h"

namespace probust {

void require_equal_lengths(const Points& points) {
  if (points.x.shape.empty() || points.x.shape[0] != points.size() || points.target.size() != points.index.size())
    throw Error{ErrorCode::usage, "the block", "has x, index and target of different lengths",
                "give one row of x, one index and one target per point"};
  if (!points.label.empty() && points.label.size() != points.index.size())
    throw Error{ErrorCode::usage, "the block",
                "has " + std::to_string(points.label.size()) + " labels for " + std::to_string(points.index.size()) + " points",
                "give one label per point, or none"};
  for (const std::vector<std::int64_t>& of_pair : points.draws) {
    if (of_pair.size() != points.index.size())
      throw Error{ErrorCode::usage, "the block",
                  "has " + std::to_string(of_pair.size()) + " shared draws for a pair of noisy samples of " +
                      std::to_string(points.index.size()) + " points",
                  "give one draw per point"};
  }
}

namespace {

// `part` selects the entries of some points from a list with one entry per point.
template <class Part>
Points chosen(const Points& points, Tensor x, const Part& part) {
  Points some{std::move(x), part(points.index), part(points.target), points.seed};
  some.draws.reserve(points.draws.size());
  for (const std::vector<std::int64_t>& of_pair : points.draws) some.draws.push_back(part(of_pair));
  if (!points.label.empty()) some.label = part(points.label);
  return some;
}

}  // namespace

Points slice(const Points& points, std::int64_t first, std::int64_t count) {
  require_equal_lengths(points);
  const auto part = [&](const std::vector<std::int64_t>& all) {
    return std::vector<std::int64_t>(all.begin() + first, all.begin() + first + count);
  };
  return chosen(points, rows(points.x, first, count), part);
}

Points select(const Points& points, std::span<const std::int64_t> which) {
  require_equal_lengths(points);
  const auto part = [&](const std::vector<std::int64_t>& all) { return select(all, which); };
  return chosen(points, rows(points.x, which), part);
}

}  // namespace probust
