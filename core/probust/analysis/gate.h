// SPDX-License-Identifier: MIT
//
// Whether a run is robust enough: thresholds for p, as used on build servers.
#pragma once

#include <cstdint>
#include <string>

#include "probust/analysis/groups.h"

namespace probust {

struct Threshold {
  enum class Kind : std::uint8_t {
    mean,            ///< the mean of p is at least `limit`
    quantile,        ///< the quantile of p at `quantile` is at least `limit`
    worst_class,     ///< the mean of p of each class is at least `limit`
    drop,            ///< the mean of p is lower than in the baseline by at most `limit`, over the points in both
    accuracy,        ///< the share of labelled points whose prediction is the label is at least `limit`
    noisy_accuracy,  ///< accuracy under noise, the mean of p_label, is at least `limit`
    noisy_drop       ///< accuracy under noise is lower than in the baseline by at most `limit`
  };
  Kind kind = Kind::mean;
  double limit = 0;
  double quantile = 0;  ///< the probability of the quantile, in 0..1

  /// Whether this limits the drop from a baseline.
  bool compares() const { return kind == Kind::drop || kind == Kind::noisy_drop; }
  /// Whether this requires labels.
  bool labelled() const { return kind == Kind::accuracy || kind == Kind::noisy_accuracy || kind == Kind::noisy_drop; }

  /// The measured quantity: "mean p", "0.05-quantile of p", "worst class's mean p", "drop of mean p", "accuracy", "accuracy
  /// under noise", ...
  std::string quantity() const;
  /// The condition on this quantity: ">= 0.9", or "<= 0.02" for a drop.
  std::string condition() const;
};

/// How a measured value is compared with a threshold.
enum class Decision : std::uint8_t {
  measured,  ///< compares the measured value
  confident  ///< compares the 95% interval: the threshold is missed only if the whole interval is on the wrong side
};

struct Check {
  Threshold threshold;
  double measured = 0;       ///< NaN if there is nothing to measure
  double low = 0, high = 0;  ///< 95% interval of the measured value; NaN if there is none
  std::int64_t count = 0;    ///< number of points (pairs for `drop`)
  std::int64_t worst = -1;   ///< the class with the lowest mean, for worst_class
  bool met = false;          ///< false if there is nothing to measure
};

/// Measures one threshold in one group of rows; rows without p do not count. `baseline` is for `drop`: the rows with the same
/// noise and estimator in the baseline, or an empty group.
///
/// Intervals are clipped to the possible values. For means, they come from mean_probability; for drops, from Student's t of the
/// pairs; for `accuracy`, from Wilson's formula; for quantiles, from order statistics (David and Nagaraja, "Order statistics",
/// section 7.1), ending at 0 or 1 if there are too few points; for classes, from bias.h, so that they hold for all classes at
/// once. The class to test is, for `confident`, the one whose interval has the lowest upper end (clipped to 1); otherwise, and
/// for ties, the one with the lowest mean.
///
/// Throws Error{unreadable} about "the run" if the baseline has different points (comparison.h).
Check check(const RowGroup& rows, const Threshold& threshold, const RowGroup& baseline, Decision decision);

}  // namespace probust
