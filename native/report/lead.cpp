// SPDX-License-Identifier: MIT
#include "report/lead.h"

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

Lead lead_of(const std::string& model, std::span<const RowGroup> groups) {
  std::vector<std::string> estimators;
  std::map<std::string, std::int64_t> answers;
  for (const RowGroup& group : groups) {
    if (group.key.model != model) continue;
    if (!answers.contains(group.key.estimator)) estimators.push_back(group.key.estimator);
    answers[group.key.estimator] += answered(group);
  }
  Lead lead{model, *std::max_element(estimators.begin(), estimators.end(),
                                     [&](const auto& a, const auto& b) { return answers[a] < answers[b]; })};
  for (const RowGroup& group : groups) {
    if (group.key.model == model && group.key.estimator == lead.estimator) lead.noises.push_back(&group);
  }
  const auto widest = std::max_element(lead.noises.begin(), lead.noises.end(),
                                       [](const RowGroup* a, const RowGroup* b) { return spread(*a) < spread(*b); });
  lead.widest = static_cast<std::size_t>(widest - lead.noises.begin());
  return lead;
}

}  // namespace

std::vector<const RowGroup*> Lead::few() const {
  if (noises.size() <= kFewNoises) return noises;
  const std::set<std::size_t> chosen{0, widest, noises.size() - 1};
  std::vector<const RowGroup*> result;
  result.reserve(chosen.size());
  for (const std::size_t k : chosen) result.push_back(noises[k]);
  return result;
}

std::vector<Lead> leads_of(std::span<const RowGroup> groups) {
  std::vector<Lead> leads;
  for (const RowGroup& group : groups) {
    const bool known = std::any_of(leads.begin(), leads.end(), [&](const Lead& lead) { return lead.model == group.key.model; });
    if (!known) leads.push_back(lead_of(group.key.model, groups));
  }
  return leads;
}

std::vector<Ranking> rankings_of(std::span<const Lead> leads) {
  std::vector<Ranking> rankings;
  for (const Lead& lead : leads) rankings.push_back(ranking_of(lead.at_widest(), kRanked));
  return rankings;
}

}  // namespace probust::report
