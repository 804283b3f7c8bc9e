// SPDX-License-Identifier: MIT
#include "probust/analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "probust/base/error.h"
#include "probust/estimators/statistics/binomial.h"

namespace probust {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void same_length(std::size_t a, std::size_t b, const char* where) {
  if (a != b)
    throw Error{ErrorCode::usage, where,
                "needs two lists of equal length, not " + std::to_string(a) + " and " + std::to_string(b) + " values", ""};
}

}  // namespace

// Solves P(|T| > t) = I_{n / (n + t²)}(n / 2, 1 / 2) for t by bisection.
double student_quantile(double freedom, double confidence) {
  const double n = freedom, beyond = 1 - confidence;
  const auto outside = [n](double t) { return incomplete_beta(0.5 * n, 0.5, n / (n + t * t)); };
  double low = 0, high = 1;
  while (outside(high) > beyond && high < 1e150) high *= 2;
  for (int round = 0; round < 80; ++round) {
    const double t = 0.5 * (low + high);
    (outside(t) > beyond ? low : high) = t;
  }
  return high;
}

namespace {

// Moments of the finite values and of their mean.
struct MeanMoments {
  std::int64_t count = 0;
  double mean = kNan, error = kNan, skewness = 0;  // the standard error and the skewness of the mean
};

MeanMoments moments_of_mean(std::span<const double> values, double common) {
  std::vector<double> finite;
  finite.reserve(values.size());
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  const auto n = static_cast<double>(finite.size());
  MeanMoments moments{std::ssize(finite)};
  moments.mean = std::accumulate(finite.begin(), finite.end(), 0.0) / n;
  double squares = 0, cubes = 0;
  for (const double value : finite) squares += (value - moments.mean) * (value - moments.mean);
  moments.error = std::sqrt(squares / (n - 1) / n + common);
  if (!(n > 2 && moments.error > 0)) return moments;
  for (const double value : finite) cubes += std::pow((value - moments.mean) / moments.error, 3);  // no underflow
  moments.skewness = cubes / ((n - 1) * (n - 2) * n);
  return moments;
}

// The quantile of the studentized mean that corresponds to the quantile t of Student's distribution: the inverse of Hall's cubic
// transformation.
double skewed_quantile(double t, double skewness) {
  constexpr double kSymmetric = 1e-6;
  if (std::fabs(skewness) < kSymmetric) return t;
  return 3 / skewness * (std::cbrt(1 + skewness * (t - skewness / 6)) - 1);
}

// The interval from mean - `above` standard errors to mean - `below` standard errors.
MeanInterval interval_between(const MeanMoments& moments, double above, double below) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (moments.count == 1) return {moments.mean, -kInfinity, kInfinity, 1, moments.error};
  return {moments.mean, moments.mean - above * moments.error, moments.mean - below * moments.error, moments.count, moments.error};
}

double quantile_for(const MeanMoments& moments, double confidence) {
  return moments.count > 1 ? student_quantile(static_cast<double>(moments.count - 1), confidence) : kNan;
}

}  // namespace

MeanInterval mean_interval(std::span<const double> values, double confidence, double common) {
  const MeanMoments moments = moments_of_mean(values, common);
  const double t = quantile_for(moments, confidence);
  return interval_between(moments, t, -t);
}

MeanInterval mean_probability(std::span<const double> p, double confidence, double common) {
  const MeanMoments moments = moments_of_mean(p, common);
  const double t = quantile_for(moments, confidence);
  MeanInterval mean = interval_between(moments, skewed_quantile(t, moments.skewness), skewed_quantile(-t, moments.skewness));
  mean.low = std::clamp(mean.low, 0.0, 1.0);
  mean.high = std::clamp(mean.high, 0.0, 1.0);
  return mean;
}

ClassBias class_bias(std::span<const double> p, std::span<const std::int64_t> of_class, std::int64_t classes, double confidence,
                     double common) {
  same_length(p.size(), of_class.size(), "class_bias");
  if (classes < 0) throw Error{ErrorCode::usage, "class_bias", "cannot have a negative number of classes", ""};
  std::vector<double> known;
  std::vector<std::vector<double>> within(static_cast<std::size_t>(classes));
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (of_class[i] < 0 || of_class[i] >= classes) continue;
    within[of_class[i]].push_back(p[i]);
    known.push_back(p[i]);
  }
  ClassBias bias{{}, mean_probability(known, 0.95, common)};
  for (const auto& values : within) bias.classes.push_back(mean_probability(values, confidence, common));
  return bias;
}

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto before = [&](std::size_t i, std::size_t j) {
    return std::isnan(values[j]) ? !std::isnan(values[i]) : values[i] < values[j];
  };
  std::sort(order.begin(), order.end(), before);
  std::vector<double> result(values.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && !before(order[first], order[last])) ++last;
    for (std::size_t k = first; k < last; ++k) result[order[k]] = 0.5 * static_cast<double>(first + 1 + last);
  }
  return result;
}

double pearson(std::span<const double> a, std::span<const double> b) {
  same_length(a.size(), b.size(), "pearson");
  const auto varies = [](std::span<const double> x) {
    return std::any_of(x.begin(), x.end(), [&](double value) { return value != x[0]; });
  };
  if (!varies(a) || !varies(b)) return kNan;  // otherwise rounding of the mean could create a correlation
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n, mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
    ab += (a[i] - mean_a) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? std::clamp(ab / std::sqrt(aa) / std::sqrt(bb), -1.0, 1.0) : kNan;
}

double spearman(std::span<const double> a, std::span<const double> b) {
  same_length(a.size(), b.size(), "spearman");
  return pearson(ranks(a), ranks(b));
}

Agreement agreement(std::span<const double> a, std::span<const double> b) {
  same_length(a.size(), b.size(), "agreement");
  std::vector<double> left, right;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
    left.push_back(a[i]);
    right.push_back(b[i]);
  }
  Agreement result;
  result.count = static_cast<std::int64_t>(left.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double gap = left[i] - right[i];
    result.mae += std::abs(gap);
    result.bias += gap;
    result.largest = std::max(result.largest, std::abs(gap));
  }
  result.mae /= static_cast<double>(result.count);
  result.bias /= static_cast<double>(result.count);
  result.pearson = pearson(left, right);
  result.spearman = spearman(left, right);
  return result;
}

}  // namespace probust
