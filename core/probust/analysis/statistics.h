// SPDX-License-Identifier: MIT
//
// Summary statistics of estimates: means with intervals, ranks, agreement.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace probust {

/// A mean, its standard error and its interval. Values are treated as independent, apart from errors that they have in common.
struct MeanInterval {
  double mean = 0, low = 0, high = 0;  ///< NaN if there are no values; the interval is infinite for a single value
  std::int64_t count = 0;
  double std_error = 0;  ///< standard error of the mean; NaN for fewer than two values
};

/// The mean of the finite values, with Student's interval: it contains the true mean with probability `confidence`.
/// `common` is the part of the variance of the mean that is due to errors common to the values
/// (RowGroup::common_variance).
MeanInterval mean_interval(std::span<const double> values, double confidence = 0.95, double common = 0);

/// mean_interval for probabilities: the interval is within 0..1, and is 0..1 for a single value. If many p are near 1 and a few
/// far below, Student's interval would be too high, so it is corrected for skewness (Hall, "On the removal of skewness by
/// transformation", JRSS B 1992).
MeanInterval mean_probability(std::span<const double> p, double confidence = 0.95, double common = 0);

/// The t with P(|T| <= t) = confidence, for a variable T with Student's distribution. `freedom`, the number of degrees of
/// freedom, need not be an integer.
double student_quantile(double freedom, double confidence);

/// The mean of `p` within each class and over all points of classes 0 .. classes - 1. It shows whether robustness differs between
/// classes (Han et al., section 4.3).
struct ClassBias {
  std::vector<MeanInterval> classes;  ///< [classes] mean_probability with the requested confidence
  MeanInterval all;                   ///< over all points, at 95%
};
ClassBias class_bias(std::span<const double> p, std::span<const std::int64_t> of_class, std::int64_t classes,
                     double confidence = 0.95, double common = 0);

/// Ranks from 1 for the smallest; equal values share the mean of their ranks. NaN ranks last.
std::vector<double> ranks(std::span<const double> values);

/// Pearson's correlation; NaN if either side is constant.
double pearson(std::span<const double> a, std::span<const double> b);
/// Spearman's correlation: Pearson's of the ranks.
double spearman(std::span<const double> a, std::span<const double> b);

/// Agreement of two columns of numbers, over the pairs in which both are finite.
struct Agreement {
  double mae = 0, bias = 0, largest = 0;  ///< mean absolute value, mean and largest absolute value of a - b
  double pearson = 0, spearman = 0;
  std::int64_t count = 0;
};
Agreement agreement(std::span<const double> a, std::span<const double> b);

}  // namespace probust
