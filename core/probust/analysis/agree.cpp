// SPDX-License-Identifier: MIT
#include "probust/analysis/agree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "probust/normal/mv_sigmoid.h"

namespace probust {
namespace {

// p and the probability of failure, keyed by the point's position in the data.
struct Column {
  std::string name;
  std::map<std::int64_t, std::pair<double, double>> values;
};

Column column_of(const RowGroup& group) {
  Column column{group.key.estimator, {}};
  for (const Row* row : group.rows) column.values[row->index] = {row->estimate.p, row->estimate.failure()};
  return column;
}

using Recorded = std::map<std::pair<std::string, std::int64_t>, const PointRecord*>;

// The softmax probability of each row's target, for the points of the group.
Column softmax_column(const RowGroup& group, const Recorded& recorded) {
  Column column{kSoftmax, {}};
  for (const Row* row : group.rows) {
    const auto record = recorded.find({row->model, row->index});
    if (record == recorded.end()) continue;
    const std::vector<float>& logits = record->second->logits;
    if (row->target < 0 || row->target >= std::ssize(logits)) continue;
    std::vector<double> margins;
    for (std::int64_t c = 0; c < std::ssize(logits); ++c) {
      if (c != row->target) margins.push_back(double{logits[row->target]} - double{logits[c]});
    }
    const normal::MvSigmoid softmax = normal::mv_sigmoid(margins);
    column.values[row->index] = {softmax.p, softmax.p_fail};
  }
  return column;
}

double relative_difference(double a, double b) { return a == b ? 0 : std::fabs(a - b) / std::max(std::fabs(a), std::fabs(b)); }

Comparison compared(const RowGroup& group, const Column& b) {
  Comparison comparison{group.key.model, group.key.noise, group.key.sigma, group.key.estimator, b.name};
  std::vector<const Row*> rows = group.rows;
  std::sort(rows.begin(), rows.end(), [](const Row* x, const Row* y) { return x->index < y->index; });
  double of_p = 0, of_failures = 0;
  for (const Row* row : rows) {
    const auto other = b.values.find(row->index);
    if (other == b.values.end() || !std::isfinite(row->estimate.p) || !std::isfinite(other->second.first)) continue;
    comparison.points.push_back(row);
    comparison.p_a.push_back(row->estimate.p);
    comparison.p_b.push_back(other->second.first);
    of_p += relative_difference(row->estimate.p, other->second.first);
    of_failures += relative_difference(row->estimate.failure(), other->second.second);
  }
  comparison.p = agreement(comparison.p_a, comparison.p_b);
  const auto count = static_cast<double>(comparison.points.size());
  comparison.relative_p = of_p / count;  // NaN without points
  comparison.relative_fail = of_failures / count;
  if (!comparison.points.empty()) return comparison;
  comparison.p.mae = comparison.p.bias = comparison.p.largest = std::numeric_limits<double>::quiet_NaN();
  return comparison;
}

}  // namespace

std::vector<Comparison> compare_estimators(const Results& results) {
  Recorded recorded;
  for (const PointRecord& point : results.points) {
    if (!point.logits.empty()) recorded[{point.model, point.index}] = &point;
  }
  std::vector<RowGroup> groups = grouped(results.rows);
  std::vector<Comparison> comparisons;
  std::vector<bool> done(groups.size(), false);
  for (std::size_t first = 0; first < groups.size(); ++first) {
    if (done[first]) continue;
    std::vector<const RowGroup*> same;  // groups of this model and noise
    for (std::size_t k = first; k < groups.size(); ++k) {
      if (groups[k].key.model != groups[first].key.model || groups[k].key.noise != groups[first].key.noise) continue;
      done[k] = true;
      same.push_back(&groups[k]);
    }
    for (std::size_t i = 0; i < same.size(); ++i) {
      for (std::size_t j = i + 1; j < same.size(); ++j) comparisons.push_back(compared(*same[i], column_of(*same[j])));
    }
    for (const RowGroup* group : same) {
      const Column softmax = softmax_column(*group, recorded);
      if (!softmax.values.empty()) comparisons.push_back(compared(*group, softmax));
    }
  }
  return comparisons;
}

}  // namespace probust
