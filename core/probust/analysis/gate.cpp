// SPDX-License-Identifier: MIT
#include "probust/analysis/gate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "probust/analysis/bias.h"
#include "probust/analysis/comparison.h"
#include "probust/analysis/statistics.h"
#include "probust/analysis/summary.h"
#include "probust/base/text.h"
#include "probust/estimators/statistics/binomial.h"

namespace probust {
namespace {

// Sets the interval of a mean, clipped to least .. 1, because Student's interval exceeds that range if there are few points.
void set_interval(Check& check, const MeanInterval& interval, double least) {
  constexpr double kMost = 1;
  check.measured = interval.mean;
  check.low = std::clamp(interval.low, least, kMost);
  check.high = std::clamp(interval.high, least, kMost);
  check.count = interval.count;
}

// P[X <= k] for X ~ Bin(n, q).
double binomial_cdf(std::int64_t k, std::int64_t n, double q) {
  if (k < 0) return 0;
  if (k >= n) return 1;
  return 1 - incomplete_beta(static_cast<double>(k + 1), static_cast<double>(n - k), q);
}

// The number of k = 0 .. n for which P[X <= k] is at most `level`. These k are consecutive from 0.
std::int64_t count_below(double level, std::int64_t n, double q) {
  std::int64_t first = 0, last = n + 1;
  while (first < last) {
    const std::int64_t middle = first + (last - first) / 2;
    binomial_cdf(middle, n, q) <= level ? first = middle + 1 : last = middle;
  }
  return first;
}

// The number of values below the quantile is X ~ Bin(n, q), so the l-th value is above the quantile with probability P[X
// < l], and the u-th value is below it with probability P[X >= u].
void measure_quantile(std::vector<double> p, double q, Check& check) {
  constexpr double kTail = 0.025;
  std::erase_if(p, [](double value) { return !std::isfinite(value); });
  std::sort(p.begin(), p.end());
  const std::int64_t n = check.count = std::ssize(p);
  check.measured = quantile_of(p, q);
  if (n == 0) {
    check.low = check.high = NAN;
    return;
  }
  const std::int64_t l = count_below(kTail, n, q);
  std::int64_t u = n - count_below(kTail, n, 1 - q) + 1;  // by symmetry
  check.low = l == 0 ? 0 : std::min(p[l - 1], check.measured);
  check.high = u > n ? 1 : std::max(p[u - 1], check.measured);
}

// The sort key of a class: its mean or, for a confident decision, the upper end of its interval. Several upper ends may be 1, so
// the mean breaks ties.
std::pair<double, double> rank_of_class(const MeanInterval& p, Decision decision) {
  return {decision == Decision::confident ? std::min(p.high, 1.0) : p.mean, p.mean};
}

void measure_worst_class(const RowGroup& rows, Decision decision, Check& check) {
  const GroupBias bias = bias_of(rows);
  check.measured = check.low = check.high = NAN;
  std::pair<double, double> worst;
  for (std::size_t k = 0; k < bias.classes.size(); ++k) {
    if (bias.p[k].count == 0 || (check.worst >= 0 && rank_of_class(bias.p[k], decision) >= worst)) continue;
    worst = rank_of_class(bias.p[k], decision);
    check.worst = bias.classes[k];
    set_interval(check, bias.p[k], 0);
  }
}

void measure_drop(const RowGroup& rows, const RowGroup& baseline, Check& check) {
  const PairedComparison comparison = compare_groups(baseline, rows);
  const bool noisy = check.threshold.kind == Threshold::Kind::noisy_drop;
  const MeanInterval& rise = noisy ? comparison.noisy_difference : comparison.difference;
  set_interval(check, {0.0 - rise.mean, 0.0 - rise.high, 0.0 - rise.low, rise.count}, -1);
}

bool is_met(const Check& check, Decision decision) {
  const double limit = check.threshold.limit;
  const bool confident = decision == Decision::confident;
  if (check.threshold.compares()) return check.measured <= limit || (confident && check.low <= limit);
  return check.measured >= limit || (confident && check.high >= limit);
}

}  // namespace

std::string Threshold::quantity() const {
  switch (kind) {
    case Kind::mean:
      return "mean p";
    case Kind::quantile:
      return shortest_text(quantile) + "-quantile of p";
    case Kind::worst_class:
      return "worst class's mean p";
    case Kind::drop:
      return "drop of mean p";
    case Kind::accuracy:
      return "accuracy";
    case Kind::noisy_accuracy:
      return "accuracy under noise";
    case Kind::noisy_drop:
      return "drop of accuracy under noise";
  }
  return "";
}

std::string Threshold::condition() const { return (compares() ? "<= " : ">= ") + shortest_text(limit); }

Check check(const RowGroup& rows, const Threshold& threshold, const RowGroup& baseline, Decision decision) {
  Check result;
  result.threshold = threshold;
  switch (threshold.kind) {
    case Threshold::Kind::mean:
      set_interval(result, rows.mean_p(), 0);
      break;
    case Threshold::Kind::quantile:
      measure_quantile(rows.p(), threshold.quantile, result);
      break;
    case Threshold::Kind::worst_class:
      measure_worst_class(rows, decision, result);
      break;
    case Threshold::Kind::drop:
    case Threshold::Kind::noisy_drop:
      measure_drop(rows, baseline, result);
      break;
    case Threshold::Kind::accuracy: {
      const Proportion right = clean_accuracy(rows);
      set_interval(result, {right.share, right.low, right.high, right.of}, 0);
      break;
    }
    case Threshold::Kind::noisy_accuracy:
      set_interval(result, noisy_accuracy(rows), 0);
      break;
  }
  result.met = is_met(result, decision);
  return result;
}

}  // namespace probust
