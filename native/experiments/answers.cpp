// SPDX-License-Identifier: MIT
#include "experiments/answers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "probust/base/text.h"
#include "report/words.h"

namespace probust::cli::reproduce {

std::string_view text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::confirmed:
      return "confirmed";
    case Verdict::not_confirmed:
      return "not confirmed";
    case Verdict::not_tested:
      break;
  }
  return "not tested";
}

namespace {

[[noreturn]] void refuse_missing(const std::string& noise, const std::string& estimator) {
  throw Error{ErrorCode::internal, "the run", "has no rows for " + noise + ", " + estimator, ""};
}

}  // namespace

std::string gaussian(double sigma) { return "gaussian:" + shortest_text(sigma); }

std::vector<double> p_of(const Results& results, const std::string& noise, const std::string& estimator) {
  std::vector<double> p;
  for (const Row& row : results.rows) {
    if (row.noise == noise && row.estimator == estimator) p.push_back(row.estimate.p);
  }
  if (p.empty()) refuse_missing(noise, estimator);
  return p;
}

std::map<std::int64_t, RowGroup> by_class(const RowGroup& group) {
  std::map<std::int64_t, RowGroup> classes;
  for (const Row* row : group.rows) {
    RowGroup& one = classes[row->label.value_or(row->predicted)];
    one.key = group.key;
    one.rows.push_back(row);
  }
  return classes;
}

Answers::Answers(Results results) : results_(std::move(results)), groups_(grouped(results_.rows)) {
  for (const RowGroup& group : groups_) p_.push_back(group.p());
}

std::size_t Answers::find(const std::string& estimator, double sigma) const {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].key.estimator == estimator && groups_[g].key.noise == gaussian(sigma)) return g;
  }
  refuse_missing(gaussian(sigma), estimator);
}

const std::vector<double>& Answers::p(const std::string& estimator, double sigma) const { return p_[find(estimator, sigma)]; }
const RowGroup& Answers::group(const std::string& estimator, double sigma) const { return groups_[find(estimator, sigma)]; }

ErrorOf error_of(std::span<const double> a, std::span<const double> reference) {
  ErrorOf error;
  std::int64_t known = 0, positive = 0;
  for (std::size_t i = 0; i < std::min(a.size(), reference.size()); ++i) {
    const double difference = std::fabs(a[i] - reference[i]);
    if (!std::isfinite(difference)) continue;
    error.absolute += difference;
    ++known;
    if (reference[i] <= 0) continue;
    error.relative += difference / reference[i];
    ++positive;
  }
  error.absolute /= static_cast<double>(known);
  error.relative /= static_cast<double>(positive);
  return error;
}

double sampling_error(std::span<const double> p, std::int64_t copies) {
  double sum = 0;
  for (const double each : p) sum += std::sqrt(each * (1 - each) / static_cast<double>(copies));
  return std::sqrt(2 / std::numbers::pi) * sum / static_cast<double>(p.size());
}

report::Series line(const std::string& name, std::span<const double> x, std::span<const double> y) {
  report::Series series{name, {}};
  for (std::size_t i = 0; i < x.size(); ++i) series.points.push_back({x[i], y[i]});
  return series;
}

std::vector<std::string> texts(std::span<const double> values) {
  std::vector<std::string> texts(values.size());
  std::transform(values.begin(), values.end(), texts.begin(), report::rounded);
  return texts;
}

std::vector<report::Column> columns(const std::vector<std::string>& titles, std::initializer_list<std::size_t> words) {
  std::vector<report::Column> columns;
  columns.reserve(titles.size());
  for (const std::string& title : titles)
    columns.push_back({title, std::find(words.begin(), words.end(), columns.size()) == words.end()});
  return columns;
}

}  // namespace probust::cli::reproduce
