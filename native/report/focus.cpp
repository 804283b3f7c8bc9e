// SPDX-License-Identifier: MIT
#include "report/focus.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace probust::report {
namespace {

constexpr std::int64_t kRanked = 12;  // points at each end of a ranking
constexpr std::size_t kFewNoises = 4;

std::int64_t answered(const RowGroup& group) {
  return std::count_if(group.rows.begin(), group.rows.end(), [](const Row* row) { return std::isfinite(row->estimate.p); });
}

// The variance of p over the points for which p is known.
double spread(const RowGroup& group) {
  double count = 0, sum = 0, squares = 0;
  for (const Row* row : group.rows) {
    const double p = row->estimate.p;
    if (!std::isfinite(p)) continue;
    count += 1;
    sum += p;
    squares += p * p;
  }
  return count == 0 ? 0 : squares / count - sum / count * (sum / count);
}

Focus focus_of(const std::string& model, std::span<const RowGroup> groups) {
  std::vector<std::string> estimators;
  std::map<std::string, std::int64_t> answers;
  for (const RowGroup& group : groups) {
    if (group.key.model != model) continue;
    if (!answers.contains(group.key.estimator)) estimators.push_back(group.key.estimator);
    answers[group.key.estimator] += answered(group);
  }
  Focus focus{model, *std::max_element(estimators.begin(), estimators.end(),
                                       [&](const auto& a, const auto& b) { return answers[a] < answers[b]; })};
  for (const RowGroup& group : groups) {
    if (group.key.model == model && group.key.estimator == focus.estimator) focus.noises.push_back(&group);
  }
  const auto widest = std::max_element(focus.noises.begin(), focus.noises.end(),
                                       [](const RowGroup* a, const RowGroup* b) { return spread(*a) < spread(*b); });
  focus.widest = static_cast<std::size_t>(widest - focus.noises.begin());
  return focus;
}

}  // namespace

std::vector<const RowGroup*> Focus::few() const {
  if (noises.size() <= kFewNoises) return noises;
  const std::set<std::size_t> chosen{0, widest, noises.size() - 1};
  std::vector<const RowGroup*> result;
  result.reserve(chosen.size());
  for (const std::size_t k : chosen) result.push_back(noises[k]);
  return result;
}

std::vector<Focus> focuses_of(std::span<const RowGroup> groups) {
  std::vector<Focus> focuses;
  for (const RowGroup& group : groups) {
    const bool known =
        std::any_of(focuses.begin(), focuses.end(), [&](const Focus& focus) { return focus.model == group.key.model; });
    if (!known) focuses.push_back(focus_of(group.key.model, groups));
  }
  return focuses;
}

std::vector<Ranking> rankings_of(std::span<const Focus> focuses) {
  std::vector<Ranking> rankings;
  for (const Focus& focus : focuses) rankings.push_back(ranking_of(focus.at_widest(), kRanked));
  return rankings;
}

}  // namespace probust::report
