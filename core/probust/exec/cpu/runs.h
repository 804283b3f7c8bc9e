// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace probust::cpu {

/// Elements first .. first + length - 1 of a result are elements source, source + 1, ... of an operand; zeros where source < 0.
struct Run {
  std::int64_t first, length, source;
};

/// Joins neighbours: sources[i] is where element i comes from, negative for zero.
std::vector<Run> to_runs(const std::vector<std::int64_t>& sources);

/// Copies rows begin .. end - 1, where a row is an element and one of its `lanes`, from an operand to `to`.
void copy_rows(const std::vector<Run>& runs, const float* from, std::int64_t lanes, std::int64_t begin, std::int64_t end,
               float* to);

}  // namespace probust::cpu
