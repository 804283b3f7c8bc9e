// SPDX-License-Identifier: MIT
#include "probust/analysis/agree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "probust/base/text.h"
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

// The number of noisy samples of a Monte Carlo estimator; 0 for any other estimator. The text is that of an EstimatorSpec.
std::int64_t sample_count_of(const std::string& estimator) {
  if (!estimator.starts_with("mc:")) return 0;
  const std::string parameter = estimator.substr(3, estimator.find(':', 3) - 3);
  return std::max<std::int64_t>(1, parse_integer(parameter).value_or(1));
}

// The mean of |estimate - reference| / reference.
class RelativeError {
 public:
  void add(double estimate, double reference) {
    if (!(reference > 0)) return;
    sum_ += std::fabs(estimate - reference) / reference;
    ++count_;
  }
  double mean() const { return sum_ / static_cast<double>(count_); }  // NaN without points

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

Comparison compared(const RowGroup& group, const Column& b) {
  Comparison comparison{group.key.model, group.key.noise, group.key.sigma, group.key.estimator, b.name};
  std::vector<const Row*> rows = group.rows;
  std::sort(rows.begin(), rows.end(), [](const Row* x, const Row* y) { return x->index < y->index; });
  const bool b_is_reference = sample_count_of(b.name) > sample_count_of(group.key.estimator);
  comparison.reference = b_is_reference ? comparison.b : comparison.a;
  RelativeError of_p, of_failures;
  for (const Row* row : rows) {
    const auto other = b.values.find(row->index);
    if (other == b.values.end() || !std::isfinite(row->estimate.p) || !std::isfinite(other->second.first)) continue;
    comparison.points.push_back(row);
    comparison.p_a.push_back(row->estimate.p);
    comparison.p_b.push_back(other->second.first);
    std::pair estimate{row->estimate.p, row->estimate.failure()}, reference = other->second;
    if (!b_is_reference) std::swap(estimate, reference);
    of_p.add(estimate.first, reference.first);
    of_failures.add(estimate.second, reference.second);
  }
  comparison.p = agreement(comparison.p_a, comparison.p_b);
  comparison.relative_p = of_p.mean();
  comparison.relative_fail = of_failures.mean();
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
