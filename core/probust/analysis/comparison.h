// SPDX-License-Identifier: MIT
//
// Compares two runs on the same points, point by point. Points differ far more in p than models do, so the mean of the paired
// differences has a much smaller error than the difference between unpaired means.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probust/analysis/accuracy.h"
#include "probust/analysis/groups.h"
#include "probust/analysis/results.h"
#include "probust/analysis/statistics.h"

namespace probust {

/// Two groups of rows of the same noise and estimator, paired by point. Differences are p of the run minus p of the baseline.
struct PairedComparison {
  GroupKey baseline, run;                  ///< if one side has no such rows, its key has only the model
  std::int64_t pairs = 0;                  ///< points for which both have p
  std::int64_t unanswered = 0;             ///< number of points in both groups for which at least one side has no p
  MeanInterval baseline_p, run_p;          ///< means of p over the pairs
  MeanInterval difference;                 ///< the paired interval (Student's t); of zero width if all differences are equal
  Proportion baseline_clean, run_clean;    ///< accuracy without noise, over labelled points that both have
  MeanInterval baseline_noisy, run_noisy;  ///< accuracy under noise, over the pairs with p_label in both
  MeanInterval noisy_difference;           ///< difference of p_label; paired, like `difference`
  std::int64_t higher = 0, lower = 0;      ///< pairs with a higher and a lower p than in the baseline
  double sign_test = 1;                    ///< two-sided p-value of the sign test: `higher` against `lower`
  std::int64_t with_intervals = 0;         ///< pairs in which both have an interval: the row's, or p +- 1.96 standard errors
  std::int64_t beyond = 0;                 ///< number of those pairs whose two intervals do not overlap
  double pearson = 0, spearman = 0;        ///< correlations of p over the pairs; NaN if either side is constant
  std::vector<std::int64_t> only_baseline, only_run;  ///< ascending indices of points that only one side has
};

/// Pairs the rows of two groups by index; noise and estimator may differ. Throws Error{unreadable} about "the run" if labels
/// differ, or if targets differ and are not each model's own prediction, because the points are then not the same.
PairedComparison compare_groups(const RowGroup& baseline, const RowGroup& run);

/// Compares the rows of one model, `baseline`, with those of one model, `run`: one comparison for each noise and
/// estimator on either side, in order of first appearance in `baseline`, then in `run`. With `against`, every estimator
/// of `run` is compared with this estimator of `baseline`. Throws as compare_groups does.
std::vector<PairedComparison> compare_rows(std::span<const Row> baseline, std::span<const Row> run,
                                           const std::optional<std::string>& against = {});

/// A comparison in one sentence, with the names of the two runs: "B keeps the correct prediction under noise less often than A:
/// 23% against 73%, difference -50 percentage points (-55..-44)." With labels, it compares accuracy under noise; without labels,
/// it compares p and mentions that there are none. Empty without pairs.
std::string in_one_sentence(const PairedComparison& comparison, const std::string& baseline = "A", const std::string& run = "B");

/// The comparison to use for in_one_sentence: the first one with the most labelled pairs or, without labels, with the most pairs.
/// Null if there are no pairs.
const PairedComparison* leading(std::span<const PairedComparison> comparisons);

/// The models of a run, ascending; {""} for a single model without a name. Empty without rows.
std::vector<std::string> models_of(const Results& results);

/// The rows of one model.
std::span<const Row> rows_of_model(const Results& results, const std::string& model);

/// The model of a baseline with which to compare `model`: its only one, or the one of the same name. Empty if there is none.
std::optional<std::string> baseline_model(const std::vector<std::string>& models, const std::string& model);

}  // namespace probust
