// SPDX-License-Identifier: MIT
//
// The most and the least robust points.
#pragma once

#include <cstdint>
#include <vector>

#include "probust/analysis/groups.h"

namespace probust {

struct Ranking {
  GroupKey key;
  std::int64_t answered = 0;  ///< points with p
  /// Rows owned by the caller: `least` starts with the least robust, `most` with the most robust.
  std::vector<const Row*> least{}, most{};
};

/// At most `count` points of each kind, ordered by p, by p_fail (which distinguishes points whose p is nearly 1), and by index.
Ranking ranking_of(const RowGroup& group, std::int64_t count);

}  // namespace probust
