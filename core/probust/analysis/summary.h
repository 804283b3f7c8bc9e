// SPDX-License-Identifier: MIT
//
// A summary of a run: clean accuracy by model, and p by group.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "probust/analysis/accuracy.h"
#include "probust/analysis/groups.h"
#include "probust/analysis/statistics.h"

namespace probust {

/// The q-quantile of the finite values, interpolated between order statistics (Hyndman and Fan's definition 7); NaN if there are
/// none. `q` is in 0..1.
double quantile_of(std::vector<double> values, double q);

struct CleanAccuracy {
  std::string model;        ///< as in Row
  std::int64_t points = 0;  ///< number of points, labelled or not
  Proportion accuracy;      ///< share of labelled points whose prediction is the label
};

struct GroupSummary {
  GroupKey key;
  std::int64_t points = 0;
  /// Mean of p over the p.count points that have p.
  MeanInterval p;
  double least = 0, q05 = 0, q25 = 0, median = 0, q75 = 0, q95 = 0, most = 0;  ///< quantiles of p; NaN if no point has p
  MeanInterval noisy{};  ///< mean of p_label over the noisy.count points that have it (accuracy under noise)
  std::vector<std::pair<Status, std::int64_t>> unanswered{};  ///< number of points without p by status, in the order of Status
  std::int64_t forwards = 0, backwards = 0;                   ///< passes for all points
};

struct Summary {
  std::vector<CleanAccuracy> models;  ///< in order of first appearance
  std::vector<GroupSummary> groups;
};

Summary summarize(const Results& results);

}  // namespace probust
