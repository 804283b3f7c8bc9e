// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace probust::cpu {

/// Elements first .. first + length - 1 of a result are elements source, source + 1, ... of an operand; zeros if source < 0.
struct CopyRange {
  std::int64_t first, length, source;
};

/// Joins gather offsets into runs: sources[i] is the operand's element for element i, negative for zero.
std::vector<CopyRange> copy_ranges(const std::vector<std::int64_t>& sources);

/// Copies rows begin .. end - 1 from an operand to `to`; row e * lanes + l is lane l of element e of the result.
void copy_rows(const std::vector<CopyRange>& runs, const float* from, std::int64_t lanes, std::int64_t begin, std::int64_t end,
               float* to);

}  // namespace probust::cpu
