// SPDX-License-Identifier: MIT
#include "probust/analysis/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace probust {
namespace {

std::vector<CleanAccuracy> accuracies_of(const Results& results) {
  std::vector<CleanAccuracy> models;
  std::int64_t correct = 0, labelled = 0;
  const auto finish = [&] {
    if (!models.empty()) models.back().accuracy = proportion(correct, labelled);
    correct = labelled = 0;
  };
  for (const PointRecord& point : points_of_rows(results)) {
    if (models.empty() || models.back().model != point.model) {
      finish();
      models.push_back({point.model, 0, {}});
    }
    ++models.back().points;
    labelled += point.label ? 1 : 0;
    correct += point.label == point.predicted ? 1 : 0;
  }
  finish();
  return models;
}

GroupSummary summary_of(const RowGroup& group) {
  const std::vector<double> p = group.p();
  GroupSummary summary{group.key, std::ssize(group.rows), group.mean_p()};
  const std::pair<double*, double> quantiles[] = {{&summary.least, 0},    {&summary.q05, 0.05}, {&summary.q25, 0.25},
                                                  {&summary.median, 0.5}, {&summary.q75, 0.75}, {&summary.q95, 0.95},
                                                  {&summary.most, 1}};
  for (const auto& [value, q] : quantiles) *value = quantile_of(p, q);
  summary.noisy = noisy_accuracy(group);
  std::map<Status, std::int64_t> unanswered;
  for (const Row* row : group.rows) {
    if (!std::isfinite(row->estimate.p)) ++unanswered[row->estimate.status];
    summary.forwards += row->estimate.forwards;
    summary.backwards += row->estimate.backwards;
  }
  summary.unanswered.assign(unanswered.begin(), unanswered.end());
  return summary;
}

}  // namespace

double quantile_of(std::vector<double> values, double q) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

Summary summarize(const Results& results) {
  Summary summary{accuracies_of(results), {}};
  for (const RowGroup& group : grouped(results.rows)) summary.groups.push_back(summary_of(group));
  return summary;
}

}  // namespace probust
