// SPDX-License-Identifier: MIT
#include "probust/check/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "probust/base/text.h"
#include "probust/estimators/statistics/binomial.h"

namespace probust {
namespace {

std::string brief(double value) { return fmt::format("{:.4g}", value); }

std::int64_t duplicate_points(const Tensor& x) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.shape[0]));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  const auto less = [&](std::int64_t a, std::int64_t b) {
    const auto left = x.row(a), right = x.row(b);
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
  };
  std::sort(order.begin(), order.end(), less);
  std::int64_t count = 0;
  for (std::size_t i = 1; i < order.size(); ++i) count += less(order[i - 1], order[i]) ? 0 : 1;
  return count;
}

std::int64_t constant_points(const Tensor& x) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    const auto row = x.row(i);
    count += row.size() > 1 && std::adjacent_find(row.begin(), row.end(), std::not_equal_to<>()) == row.end() ? 1 : 0;
  }
  return count;
}

// Adds a finding if pixels range far outside 0..1 but sigma is below 1.
void add_pixel_range(const CheckInput& input, const Values& values, std::vector<Finding>& findings) {
  if (!values.image || input.sigmas.empty()) return;
  const double sigma = *std::max_element(input.sigmas.begin(), input.sigmas.end());
  const double low = std::min(values.low * input.scale, values.high * input.scale),
               high = std::max(values.low * input.scale, values.high * input.scale);
  // Limits for the largest pixel or, if there are negative pixels, for the range: standardised pixels reach about 3.
  constexpr double kFar = 2, kWide = 20;
  const bool far = low >= 0 ? high > kFar : high - low > kWide;
  if (sigma >= 1 || !far) return;
  Finding finding{Severity::warning,
                  "range",
                  fmt::format("pixels range from {} to {}, but sigma is {}", brief(low), brief(high), brief(sigma)),
                  {}};
  if (values.full > 1) {
    finding.options.add.emplace_back("scale", shortest_text(1 / values.full));
    finding.text +=
        fmt::format(", which suits pixels in 0..1; {} 1/{} puts them in that range", option("scale"), brief(values.full));
  } else {
    finding.text += ", which hardly changes them; give sigma in the units of the pixels";
  }
  findings.push_back(finding);
}

void add_large_noise(const CheckInput& input, const Values& values, std::vector<Finding>& findings) {
  if (input.sigmas.empty()) return;
  const auto [least, most] = std::minmax_element(input.sigmas.begin(), input.sigmas.end());
  const double range = (static_cast<double>(values.high) - static_cast<double>(values.low)) * std::fabs(input.scale);
  if (!(range > 0) || *most <= range) return;
  const double a = values.low * input.scale, b = values.high * input.scale;
  findings.push_back(
      {*least > range ? Severity::warning : Severity::note,
       "sigma",
       fmt::format("noise of {} is larger than the range of the data, {} to {}; sigma is in the data's units after {}",
                   shortest_text(*most), brief(std::min(a, b)), brief(std::max(a, b)), option("scale")),
       {}});
}

// Adds findings about tables: standard deviations of columns, and noise that is small for some columns and large for others.
void add_columns(const CheckInput& input, const Values& values, std::vector<Finding>& findings) {
  if (values.image || input.x.shape.size() != 2 || input.x.shape[0] < 2) return;
  const std::int64_t n = input.x.shape[0], d = input.x.shape[1];
  std::int64_t constant = 0, widest = -1, narrowest = -1;
  double most = 0, least = INFINITY;
  for (std::int64_t column = 0; column < d; ++column) {
    double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
    for (std::int64_t i = 0; i < n; ++i) {
      const double value = input.x.data[i * d + column] * input.scale;
      sum += value;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    const double mean = sum / static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i) squares += std::pow(input.x.data[i * d + column] * input.scale - mean, 2);
    const double deviation = std::sqrt(squares / static_cast<double>(n));
    if (!std::isfinite(deviation)) continue;
    if (low == high) {
      ++constant;
      continue;
    }
    if (deviation > most) most = deviation, widest = column;
    if (deviation < least) least = deviation, narrowest = column;
  }
  if (constant > 0)
    findings.push_back(
        {Severity::note, "data", fmt::format("{} of {} columns have the same value in all {} points", constant, d, n), {}});
  constexpr double kVery = 100;
  if (!input.sigmas.empty() && widest >= 0 && most > kVery * least)
    findings.push_back(
        {Severity::note,
         "sigma",
         fmt::format("columns have very different scales (standard deviation {} in column {}, {} in column {}), so a single "
                     "sigma affects only some of them; {} gaussian:std=FILE.npy gives each column its own",
                     brief(least), narrowest, brief(most), widest, option("noise")),
         {}});
}

std::vector<std::int64_t> distinct_labels(const CheckInput& input) {
  const std::vector<std::int64_t>& labels = input.all_labels.empty() ? input.labels : input.all_labels;
  const std::set<std::int64_t> distinct(labels.begin(), labels.end());
  return {distinct.begin(), distinct.end()};
}

// The probability of at most k of n events with probability p each.
double at_most(std::int64_t k, std::int64_t n, double p) {
  return k >= n ? 1 : 1 - incomplete_beta(static_cast<double>(k) + 1, static_cast<double>(n - k), p);
}

std::string advice() {
  return fmt::format("check {}, {}, {}, {} and the labels", option("scale"), option("mean"), option("std"), option("layout"));
}

}  // namespace

Finding one_class_finding(std::int64_t points, std::int64_t of_class, const std::string& decision) {
  std::string text = fmt::format("all {} points get class {}, so p is meaningless; {}", points, of_class, advice());
  if (decision.starts_with("class 1 if "))  // one output number decides
    text += fmt::format("; if the output is a predicted number, not a score of class 1, give {} or {}", option("threshold"),
                        option("tolerance"));
  return {Severity::warning, "prediction", std::move(text), {}};
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::vector<Finding> data_findings(const CheckInput& input, const Values& values) {
  std::vector<Finding> findings;
  if (values.low > values.high) {
    findings.push_back({Severity::warning, "data", "no value is finite", {}});
    return findings;
  }
  const std::int64_t n = input.x.shape[0];
  add_pixel_range(input, values, findings);
  add_large_noise(input, values, findings);
  add_columns(input, values, findings);
  if (!values.finite) findings.push_back({Severity::note, "data", "some values are NaN or infinite", {}});
  const std::int64_t constant = constant_points(input.x);
  if (constant == n && n > 1) {
    findings.push_back(
        {Severity::warning, "data", "in each point, all values are equal; check that these are the right data", {}});
  } else if (constant > 0) {
    findings.push_back({Severity::note, "data", fmt::format("in {} of {} points, all values are equal", constant, n), {}});
  }
  const std::int64_t twice = n > 1 && values.finite ? duplicate_points(input.x) : 0;
  if (twice > 0) findings.push_back({Severity::note, "data", fmt::format("{} of {} points are duplicates", twice, n), {}});
  return findings;
}

std::vector<Finding> label_findings(const CheckInput& input) {
  std::vector<Finding> findings;
  const std::vector<std::int64_t> labels = distinct_labels(input);
  if (labels.empty() || input.classes < 2) return findings;
  const std::int64_t low = labels.front(), high = labels.back(), last = input.classes - 1;
  if (input.guessed_classes > 0 && input.guessed_classes < input.classes) {
    findings.push_back({Severity::warning,
                        "labels",
                        fmt::format("the {} class names are numbered in sorted order, but the model has {} classes; list all "
                                    "names in the model's order with {}",
                                    input.guessed_classes, input.classes, option("classes")),
                        {}});
  } else if (low < 0 || high > last) {
    findings.push_back({Severity::warning,
                        "labels",
                        fmt::format("labels range from {} to {}, but the model has classes 0 to {}; give correct labels with {}",
                                    low, high, last, option("labels")),
                        {}});
  } else if (std::ssize(labels) < input.classes) {
    findings.push_back(
        {Severity::note,
         "classes",
         fmt::format(
             "labels cover {} of the model's {} classes{}", labels.size(), input.classes,
             high == std::ssize(labels) - 1 && labels.size() > 1 ? "; check that these are the model's first classes" : ""),
         {}});
  }
  return findings;
}

std::vector<Finding> prediction_findings(const CheckInput& input, const Values& values, std::span<const std::int64_t> predicted,
                                         bool explained) {
  const auto n = std::ssize(predicted);
  const bool twice = values.standardised && input.preprocessing.mean.empty() && input.preprocessing.std.empty();
  const std::string of_columns =
      twice ? "if the model standardises its input, give the columns as measured: the given ones already "
              "have mean 0 and standard deviation 1"
            : "";
  std::vector<Finding> findings;
  if (n == 0 || explained) return findings;
  const std::set<std::int64_t> classes(predicted.begin(), predicted.end()), labels(input.labels.begin(), input.labels.end());
  // The share of each class among the labels, and among the predictions.
  std::map<std::int64_t, std::pair<double, double>> shares;
  std::int64_t correct = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    shares[predicted[i]].second += 1.0 / static_cast<double>(n);
    if (input.labels.empty()) continue;
    shares[input.labels[i]].first += 1.0 / static_cast<double>(n);
    correct += predicted[i] == input.labels[i] ? 1 : 0;
  }
  if (n >= kEnoughForOneClass && classes.size() == 1 && (input.labels.empty() || labels.size() > 1)) {
    findings.push_back(one_class_finding(n, *classes.begin(), input.decision));
    findings.back().remedy = of_columns;
    return findings;
  }
  if (input.labels.empty()) return findings;
  // Cohen's kappa: by how much the accuracy exceeds that of predictions independent of the labels, relative to the largest
  // possible excess. The least acceptable kappa depends on the number of classes. Data with two classes are often noisy, and 0.2
  // is already an accuracy of 60%. Models with very many classes seldom reach 0.3, but their accuracy is far above chance.
  double chance = 0;
  for (const auto& [of_class, share] : shares) chance += share.first * share.second;
  if (labels.size() == 1) chance = 1 / static_cast<double>(std::max<std::int64_t>(2, input.classes));
  const double accuracy = static_cast<double>(correct) / static_cast<double>(n), kappa = (accuracy - chance) / (1 - chance);
  constexpr std::int64_t kManyClasses = 100;
  const double low = input.classes >= kManyClasses ? 0.1 : std::min(0.3, 0.05 + 0.05 * static_cast<double>(input.classes));
  const double acceptable = chance + (low + 0.1) * (1 - chance);
  constexpr double kRare = 0.01;
  if (kappa < low && at_most(correct, n, acceptable) < kRare)
    findings.push_back({Severity::warning,
                        "accuracy",
                        fmt::format("the accuracy is low: {} ({} of {}; chance is {}); {}", percent(accuracy), correct, n,
                                    percent(chance), advice()),
                        {},
                        of_columns});
  return findings;
}

}  // namespace probust
