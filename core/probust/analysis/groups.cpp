// SPDX-License-Identifier: MIT
#include "probust/analysis/groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "probust/base/text.h"
#include "probust/estimators/estimator.h"
#include "probust/estimators/shared_noise.h"
#include "probust/noise/noise.h"

namespace probust {
namespace {

bool shares(const Estimate& estimate, bool by_name) {
  return estimate.method ? estimate.method->definition->share == EstimatorDefinition::Share::draws : by_name;
}

}  // namespace

std::vector<double> RowGroup::p() const {
  std::vector<double> values;
  values.reserve(rows.size());
  for (const Row* row : rows) values.push_back(row->estimate.p);
  return values;
}

std::vector<double> RowGroup::p_label() const {
  std::vector<double> values;
  values.reserve(rows.size());
  for (const Row* row : rows) values.push_back(row->estimate.p_label.value_or(NAN));
  return values;
}

std::vector<double> RowGroup::correct() const {
  std::vector<double> values;
  values.reserve(rows.size());
  for (const Row* row : rows) values.push_back(!row->label ? NAN : *row->label == row->predicted ? 1.0 : 0.0);
  return values;
}

// If the samples of each of N points rule out p_fail > q, those of all points together rule out a mean p_fail above q / N: for a
// given mean, no failure is most probable if all p_fail are equal. Points that share draws count as one.
MeanInterval RowGroup::mean_p() const {
  MeanInterval mean = mean_probability(p(), 0.95, common_variance());
  const bool by_name = shares_noise(key.estimator);
  double failures = 0, draws = 0;
  for (const Row* row : rows) {
    const Estimate& estimate = row->estimate;
    if (!std::isfinite(estimate.p)) continue;
    if (estimate.status != Status::bound || estimate.p < 1) return mean;
    failures += estimate.p_fail;
    draws += shares(estimate, by_name) ? 1 / static_cast<double>(kServed) : 1;
  }
  if (draws > 0) mean.low = std::min(mean.low, 1 - failures / static_cast<double>(mean.count) / std::max(1.0, draws));
  return mean;
}

double RowGroup::common_variance() const {
  constexpr double kCommon = 0.25;  // share of the variance of an estimate that is common to points with shared draws
  const bool by_name = shares_noise(key.estimator);
  double squares = 0, sharing = 0, answered = 0;
  for (const Row* row : rows) {
    const Estimate& estimate = row->estimate;
    answered += std::isfinite(estimate.p) ? 1 : 0;
    if (!std::isfinite(estimate.p) || !estimate.std_error || !shares(estimate, by_name)) continue;
    ++sharing;
    squares += *estimate.std_error * *estimate.std_error;
  }
  if (sharing == 0) return 0;
  const double clusters = std::max(1.0, sharing / static_cast<double>(kServed)), share = sharing / answered;
  return kCommon * share * share * squares / sharing / clusters;
}

std::vector<RowGroup> grouped(std::span<const Row> rows) {
  std::vector<RowGroup> groups;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
  for (const Row& row : rows) {
    const auto [place, fresh] = places.try_emplace({row.model, row.noise, row.estimator}, groups.size());
    if (fresh) groups.push_back({{row.model, row.noise, row.sigma, row.estimator}, {}});
    groups[place->second].rows.push_back(&row);
  }
  return groups;
}

std::string noise_shape(const std::string& noise, const std::optional<double>& sigma) {
  if (!sigma) return noise;
  const std::string scale = ":" + shortest_text(*sigma);
  const std::size_t end = without_clipping(noise).size();  // the clipping range may contain the same number
  const std::size_t at = end < scale.size() ? std::string::npos : noise.rfind(scale, end - scale.size());
  return at == std::string::npos ? noise : noise.substr(0, at) + noise.substr(at + scale.size());
}

bool names_noise(const std::string& text, const std::string& noise, const std::optional<double>& sigma) {
  const std::string shape = noise_shape(noise, sigma);
  return text == noise || text == shape || text == without_clipping(noise) || text == without_clipping(shape);
}

std::vector<PointRecord> points_of_rows(const Results& results) {
  std::vector<std::string> models;
  std::map<std::string, std::map<std::int64_t, PointRecord>> points;
  const auto of_model = [&](const std::string& model) -> std::map<std::int64_t, PointRecord>& {
    const auto [place, fresh] = points.try_emplace(model);
    if (fresh) models.push_back(model);
    return place->second;
  };
  for (const Row& row : results.rows)
    of_model(row.model).try_emplace(row.index, PointRecord{row.model, row.index, row.label, row.predicted, {}});
  for (const PointRecord& point : results.points) of_model(point.model).insert_or_assign(point.index, point);
  std::vector<PointRecord> records;
  for (const std::string& model : models) {
    for (const auto& [index, point] : points[model]) records.push_back(point);
  }
  return records;
}

}  // namespace probust
