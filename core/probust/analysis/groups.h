// SPDX-License-Identifier: MIT
//
// Rows in groups of the same model, noise and estimator, for tables and charts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probust/analysis/results.h"
#include "probust/analysis/statistics.h"

namespace probust {

/// The common key of a group of rows.
struct GroupKey {
  std::string model{};  ///< as in Row
  std::string noise{};
  std::optional<double> sigma{};
  std::string estimator{};
};

/// The rows of one model, noise and estimator, in the given order. They belong to the caller.
struct RowGroup {
  GroupKey key{};
  std::vector<const Row*> rows{};

  /// p of every row, NaN if it is unknown.
  std::vector<double> p() const;

  /// For every row, the probability of its label (NaN if unknown) and, in correct(), whether its prediction is the label (0 or 1;
  /// NaN without a label).
  std::vector<double> p_label() const;
  std::vector<double> correct() const;

  /// The mean of p. If no point had a failure, p does not vary, and the interval extends down to the smallest mean that the draws
  /// of all points together do not rule out.
  MeanInterval mean_p() const;

  /// The part of the variance of the mean of p over some rows that is due to shared draws. kServed points share a draw, so the
  /// common parts of their errors count as a single error (Kish, "Survey sampling", 1965, design effects of clusters). A quarter
  /// of an estimate's variance is assumed to be common, the largest share that was measured (docs/estimators.md). Zero without
  /// shared draws.
  double common_variance() const;
};

/// Groups the rows, in order of first appearance.
std::vector<RowGroup> grouped(std::span<const Row> rows);

/// The noise without its scale: "gaussian" for "gaussian:0.1", "gaussian@0..3" for "gaussian:0.1@0..3". For noise without a
/// scale, this is the whole text.
std::string noise_shape(const std::string& noise, const std::optional<double>& sigma);

/// Whether `text` names the noise of a row. It may omit the clipping range, the scale or both: "rotate:10|clip:0,1",
/// "rotate:10" and "rotate" all name "rotate:10|clip:0,1".
bool names_noise(const std::string& text, const std::string& noise, const std::optional<double>& sigma);

/// One record for each point that is recorded or has rows, ordered by the first appearance of the model, then by index. Points
/// that were not recorded have no logits.
std::vector<PointRecord> points_of_rows(const Results& results);

}  // namespace probust
