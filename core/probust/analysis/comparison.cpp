// SPDX-License-Identifier: MIT
#include "probust/analysis/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "probust/base/error.h"
#include "probust/estimators/statistics/binomial.h"

namespace probust {
namespace {

[[noreturn]] void refuse_other_data(std::int64_t index, const char* what, std::int64_t run, std::int64_t baseline) {
  throw Error{ErrorCode::unreadable, "the run",
              "has different data: point " + std::to_string(index) + " has " + what + " " + std::to_string(run) + " here, but " +
                  std::to_string(baseline) + " in the baseline",
              "compare runs on the same points with the same target"};
}

// Whether the user chose the target: it is not the model's own prediction.
bool given_target(const Row& row) { return row.target != row.predicted; }

void require_same_point(const Row& baseline, const Row& run) {
  if (baseline.label && run.label && *baseline.label != *run.label)
    refuse_other_data(run.index, "label", *run.label, *baseline.label);
  if (baseline.target != run.target && (given_target(baseline) || given_target(run)))
    refuse_other_data(run.index, "target", run.target, baseline.target);
}

std::optional<Interval> own_interval(const Estimate& estimate) {
  constexpr double kNormal95 = 1.959963984540054;
  if (estimate.ci_low && estimate.ci_high) return Interval{*estimate.ci_low, *estimate.ci_high};
  if (!estimate.std_error) return std::nullopt;
  const double half = kNormal95 * *estimate.std_error;
  return Interval{estimate.p - half, estimate.p + half};
}

void count_intervals(const Estimate& baseline, const Estimate& run, PairedComparison& comparison) {
  const auto a = own_interval(baseline), b = own_interval(run);
  if (!a || !b) return;
  ++comparison.with_intervals;
  if (a->high < b->low || b->high < a->low) ++comparison.beyond;
}

// Twice P[X <= k], at most 1, for X ~ Bin(n, 1/2) and the smaller count k. Ties are ignored (Dixon and Mood, "The statistical
// sign test", JASA 1946).
double sign_test(std::int64_t higher, std::int64_t lower) {
  const std::int64_t n = higher + lower, k = std::min(higher, lower);
  if (n == 0) return 1;
  return std::min(1.0, 2 * incomplete_beta(static_cast<double>(n - k), static_cast<double>(k + 1), 0.5));
}

struct PairedValues {
  std::vector<double> baseline, run, difference;
  std::vector<double> baseline_label, run_label, label_difference;
  double common_baseline = 0, common_run = 0;  // RowGroup::common_variance
};

void add_statistics(const PairedValues& pairs, PairedComparison& comparison) {
  comparison.pairs = std::ssize(pairs.difference);
  comparison.baseline_p = mean_probability(pairs.baseline, 0.95, pairs.common_baseline);
  comparison.run_p = mean_probability(pairs.run, 0.95, pairs.common_run);
  comparison.difference = mean_interval(pairs.difference, 0.95, pairs.common_baseline + pairs.common_run);
  comparison.baseline_noisy = mean_probability(pairs.baseline_label, 0.95, pairs.common_baseline);
  comparison.run_noisy = mean_probability(pairs.run_label, 0.95, pairs.common_run);
  comparison.noisy_difference = mean_interval(pairs.label_difference, 0.95, pairs.common_baseline + pairs.common_run);
  for (const double difference : pairs.difference) {
    comparison.higher += difference > 0 ? 1 : 0;
    comparison.lower += difference < 0 ? 1 : 0;
  }
  comparison.sign_test = sign_test(comparison.higher, comparison.lower);
  if (pairs.difference.empty()) {
    comparison.pearson = comparison.spearman = NAN;
    return;
  }
  comparison.pearson = pearson(pairs.baseline, pairs.run);
  comparison.spearman = spearman(pairs.baseline, pairs.run);
}

void add_label(const Estimate& baseline, const Estimate& run, PairedValues& pairs) {
  if (!baseline.p_label || !run.p_label) return;
  pairs.baseline_label.push_back(*baseline.p_label);
  pairs.run_label.push_back(*run.p_label);
  pairs.label_difference.push_back(*run.p_label - *baseline.p_label);
}

std::map<std::int64_t, const Row*> by_index(const RowGroup& group) {
  std::map<std::int64_t, const Row*> rows;
  for (const Row* row : group.rows) rows.emplace(row->index, row);
  return rows;
}

}  // namespace

PairedComparison compare_groups(const RowGroup& baseline, const RowGroup& run) {
  PairedComparison comparison;
  comparison.baseline = baseline.key;
  comparison.run = run.key;
  const auto before = by_index(baseline), after = by_index(run);
  for (const auto& [index, row] : before) {
    if (after.count(index) == 0) comparison.only_baseline.push_back(index);
  }
  RowGroup both_before{baseline.key, {}}, both_after{run.key, {}};
  PairedValues pairs;
  pairs.common_baseline = baseline.common_variance();
  pairs.common_run = run.common_variance();
  for (const auto& [index, row] : after) {
    const auto partner = before.find(index);
    if (partner == before.end()) {
      comparison.only_run.push_back(index);
      continue;
    }
    const Row& other = *partner->second;
    require_same_point(other, *row);
    both_before.rows.push_back(&other);
    both_after.rows.push_back(row);
    if (!std::isfinite(other.estimate.p) || !std::isfinite(row->estimate.p)) {
      ++comparison.unanswered;
      continue;
    }
    pairs.baseline.push_back(other.estimate.p);
    pairs.run.push_back(row->estimate.p);
    pairs.difference.push_back(row->estimate.p - other.estimate.p);
    add_label(other.estimate, row->estimate, pairs);
    count_intervals(other.estimate, row->estimate, comparison);
  }
  comparison.baseline_clean = clean_accuracy(both_before);
  comparison.run_clean = clean_accuracy(both_after);
  add_statistics(pairs, comparison);
  return comparison;
}

namespace {

// Both means and their difference, in per cent, with decimals if the difference is small: "23% against 73%, difference -50
// percentage points (-55..-44)".
std::string in_percent(const MeanInterval& run, const MeanInterval& baseline, const MeanInterval& difference) {
  const int decimals = std::fabs(difference.mean) < 0.1 ? 1 : 0;
  std::string text = fmt::format("{:.{}f}% against {:.{}f}%, difference {:+.{}f} percentage points", 100 * run.mean, decimals,
                                 100 * baseline.mean, decimals, 100 * difference.mean, decimals);
  if (std::isfinite(difference.low) && std::isfinite(difference.high))
    text += fmt::format(" ({:.{}f}..{:.{}f})", 100 * difference.low, decimals, 100 * difference.high, decimals);
  return text;
}

// A sentence such as "B keeps the correct prediction under noise less often than A".
std::string which_more(const std::string& run, const std::string& baseline, const std::string& keeps,
                       const MeanInterval& difference) {
  if (difference.low > 0) return run + keeps + " under noise more often than " + baseline;
  if (difference.high < 0) return run + keeps + " under noise less often than " + baseline;
  return run + keeps + " under noise about as often as " + baseline + ", as far as these points show";
}

}  // namespace

std::string in_one_sentence(const PairedComparison& comparison, const std::string& baseline, const std::string& run) {
  const bool labelled = comparison.noisy_difference.count > 0;
  if (labelled)
    return which_more(run, baseline, " keeps the correct prediction", comparison.noisy_difference) + ": " +
           in_percent(comparison.run_noisy, comparison.baseline_noisy, comparison.noisy_difference) + ".";
  if (comparison.pairs == 0) return "";
  const std::string missing =
      comparison.run_clean.of > 0 ? "the runs do not store the probabilities of the labels" : "there are no labels";
  return which_more(run, baseline, " keeps its own prediction, right or wrong,", comparison.difference) + ": " +
         in_percent(comparison.run_p, comparison.baseline_p, comparison.difference) + "; " + missing +
         ", so this does not say which model is better.";
}

const PairedComparison* leading(std::span<const PairedComparison> comparisons) {
  const PairedComparison* best = nullptr;
  const auto rank = [](const PairedComparison& one) { return std::pair(one.noisy_difference.count, one.pairs); };
  for (const PairedComparison& one : comparisons) {
    if (one.pairs > 0 && (best == nullptr || rank(one) > rank(*best))) best = &one;
  }
  return best;
}

std::vector<PairedComparison> compare_rows(std::span<const Row> baseline, std::span<const Row> run,
                                           const std::optional<std::string>& against) {
  std::vector<RowGroup> before = grouped(baseline), after = grouped(run);
  if (against) std::erase_if(before, [&](const RowGroup& group) { return group.key.estimator != *against; });
  const auto partners = [&](const RowGroup& a, const RowGroup& b) {
    return a.key.noise == b.key.noise && (against || a.key.estimator == b.key.estimator);
  };
  RowGroup none_before, none_after;
  if (!baseline.empty()) none_before.key.model = baseline.front().model;
  if (!run.empty()) none_after.key.model = run.front().model;
  std::vector<PairedComparison> comparisons;
  for (const RowGroup& group : before) {
    const std::size_t known = comparisons.size();
    for (const RowGroup& other : after) {
      if (partners(group, other)) comparisons.push_back(compare_groups(group, other));
    }
    if (comparisons.size() == known) comparisons.push_back(compare_groups(group, none_after));
  }
  for (const RowGroup& group : after) {
    const bool paired = std::any_of(before.begin(), before.end(), [&](const RowGroup& other) { return partners(other, group); });
    if (!paired) comparisons.push_back(compare_groups(none_before, group));
  }
  return comparisons;
}

std::vector<std::string> models_of(const Results& results) {
  std::vector<std::string> models;
  for (const Row& row : results.rows) {
    if (models.empty() || models.back() != row.model) models.push_back(row.model);
  }
  return models;
}

std::span<const Row> rows_of_model(const Results& results, const std::string& model) {
  const std::vector<Row>& rows = results.rows;
  const auto first =
      std::lower_bound(rows.begin(), rows.end(), model, [](const Row& row, const std::string& name) { return row.model < name; });
  const auto last =
      std::upper_bound(first, rows.end(), model, [](const std::string& name, const Row& row) { return name < row.model; });
  return std::span(rows).subspan(first - rows.begin(), last - first);
}

std::optional<std::string> baseline_model(const std::vector<std::string>& models, const std::string& model) {
  if (models.size() == 1) return models.front();
  if (std::find(models.begin(), models.end(), model) == models.end()) return std::nullopt;
  return model;
}

}  // namespace probust
