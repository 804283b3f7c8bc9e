// SPDX-License-Identifier: MIT
#include "probust/analysis/ranking.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace probust {

Ranking ranking_of(const RowGroup& group, std::int64_t count) {
  std::vector<const Row*> rows = group.rows;
  std::erase_if(rows, [](const Row* row) { return !std::isfinite(row->estimate.p); });
  Ranking ranking{group.key, std::ssize(rows), {}, {}};
  const auto kept = std::min(std::max<std::int64_t>(0, count), ranking.answered);
  const auto place = [](const Row* row) { return std::tuple(row->estimate.p, -row->estimate.p_fail); };
  std::partial_sort(rows.begin(), rows.begin() + kept, rows.end(),
                    [&](const Row* a, const Row* b) { return std::tuple(place(a), a->index) < std::tuple(place(b), b->index); });
  ranking.least.assign(rows.begin(), rows.begin() + kept);
  std::partial_sort(rows.begin(), rows.begin() + kept, rows.end(),
                    [&](const Row* a, const Row* b) { return std::tuple(place(b), a->index) < std::tuple(place(a), b->index); });
  ranking.most.assign(rows.begin(), rows.begin() + kept);
  return ranking;
}

}  // namespace probust
