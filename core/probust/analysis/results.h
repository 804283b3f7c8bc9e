// SPDX-License-Identifier: MIT
//
// The results of a run, in the form that all functions of this directory use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probust/run/row.h"

namespace probust {

/// The prediction and logits of a point without noise.
struct PointRecord {
  std::string model{};  ///< as in Row
  std::int64_t index = 0;
  std::optional<std::int64_t> label{};
  std::int64_t predicted = 0;
  std::vector<float> logits{};  ///< [C]
};

/// A point that could not be read.
struct SkippedPoint {
  std::string model{};  ///< as in Row
  std::int64_t index = 0;
  std::string reason{};  ///< contains the file's name and, for a table, the row
};

/// All lists are ascending by model and index. Rows may belong to points that are not recorded.
struct Results {
  std::vector<Row> rows{};
  std::vector<PointRecord> points{};
  std::vector<SkippedPoint> skipped{};
};

}  // namespace probust
