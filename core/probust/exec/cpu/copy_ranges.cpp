// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/copy_ranges.h"

#include <algorithm>
#include <cstring>

namespace probust::cpu {

std::vector<CopyRange> copy_ranges(const std::vector<std::int64_t>& sources) {
  std::vector<CopyRange> runs;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const bool continues =
        !runs.empty() && (runs.back().source < 0 ? sources[i] < 0 : sources[i] == runs.back().source + runs.back().length);
    if (continues) {
      ++runs.back().length;
    } else {
      runs.push_back({static_cast<std::int64_t>(i), 1, sources[i]});
    }
  }
  return runs;
}

void copy_rows(const std::vector<CopyRange>& runs, const float* from, std::int64_t lanes, std::int64_t begin, std::int64_t end,
               float* to) {
  auto run =
      std::partition_point(runs.begin(), runs.end(), [&](const CopyRange& r) { return (r.first + r.length) * lanes <= begin; });
  for (std::int64_t row = begin; row < end; ++run) {
    const std::int64_t stop = std::min(end, (run->first + run->length) * lanes), count = stop - row;
    if (run->source < 0) {
      std::memset(to, 0, static_cast<std::size_t>(count) * sizeof(float));
    } else {
      std::memcpy(to, from + run->source * lanes + (row - run->first * lanes), static_cast<std::size_t>(count) * sizeof(float));
    }
    to += count;
    row = stop;
  }
}

}  // namespace probust::cpu
