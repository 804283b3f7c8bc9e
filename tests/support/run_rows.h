// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "probust/analysis/results.h"

// Rows with given p, for computations on rows.
namespace probust::test {

/// A row of gaussian:0.1 and mc:100 whose target is its prediction, class 0.
inline Row row_of_p(std::int64_t index, double p, std::optional<std::int64_t> label = std::nullopt) {
  Row row{.index = index,
          .label = label,
          .predicted = 0,
          .target = 0,
          .noise = "gaussian:0.1",
          .sigma = 0.1,
          .estimator = "mc:100",
          .estimate = {}};
  row.estimate.p = p;
  row.estimate.p_fail = 1 - p;
  if (!std::isfinite(p)) row.estimate.set(Status::nonfinite, "");
  return row;
}

/// A row for a point with label 0, which has the probability p_label; if it is not `right`, the prediction is class 1.
inline Row labelled_row(std::int64_t index, double p, double p_label, bool right) {
  Row row = row_of_p(index, p, 0);
  row.predicted = row.target = right ? 0 : 1;
  row.estimate.p_label = p_label;
  return row;
}

inline std::vector<Row> rows_of_p(const std::vector<double>& p) {
  std::vector<Row> rows;
  for (const double value : p) rows.push_back(row_of_p(std::ssize(rows), value));
  return rows;
}

}  // namespace probust::test
