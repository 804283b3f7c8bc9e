// SPDX-License-Identifier: MIT
// The sections on the agreement of estimators, on certified radii, and on estimates that are missing or not `ok`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "probust/analysis/agree.h"
#include "probust/analysis/certificate.h"
#include "report/sections.h"
#include "report/words.h"

namespace probust::report {
namespace {

constexpr std::int64_t kMostDots = 1000;  // the largest number of dots in a scatter chart
constexpr std::size_t kMostPairs = 3;     // the largest number of scatter charts per model
constexpr int kRadii = 60;                // number of radii in a chart

Table table_of_comparisons(const Material& material, const std::vector<Comparison>& comparisons) {
  Table table{"Differences between two estimates of p for the same points", {{"noise", false}, {"a", false}, {"b", false}}, {}};
  if (material.several_models()) table.columns.insert(table.columns.begin(), {"model", false});
  for (const char* title : {"points", "Pearson", "Spearman", "mean |a\u00a0−\u00a0b|", "mean a\u00a0−\u00a0b", "relative, p",
                            "relative, 1\u00a0−\u00a0p"})
    table.columns.push_back({title});
  for (const Comparison& pair : comparisons) {
    std::vector<std::string> cells{pair.noise, pair.a, pair.b};
    if (material.several_models()) cells.insert(cells.begin(), pair.model);
    for (const std::string& cell : {counted(pair.p.count), rounded(pair.p.pearson), rounded(pair.p.spearman), rounded(pair.p.mae),
                                    rounded(pair.p.bias), rounded(pair.relative_p), rounded(pair.relative_fail)})
      cells.push_back(cell);
    table.rows.push_back(cells);
  }
  return table;
}

// A scatter chart of two estimators. If there are many points, it shows only every k-th, so that the page stays small.
std::string chart_of_pair(const Comparison& pair) {
  Chart chart{.title = pair.a + " and " + pair.b, .mark = Mark::scatter, .diagonal = true, .width = 440, .height = 420};
  chart.x = {.label = "p by " + pair.a, .low = 0, .high = 1};
  chart.y = {.label = pair.b == kSoftmax ? pair.b : "p by " + pair.b, .low = 0, .high = 1};
  const std::int64_t points = std::ssize(pair.points), step = std::max<std::int64_t>(1, (points + kMostDots - 1) / kMostDots);
  Series series;
  for (std::int64_t i = 0; i < points; i += step) {
    series.points.push_back(
        {.x = pair.p_a[i],
         .y = pair.p_b[i],
         .title = fmt::format("point {}: {} and {}", pair.points[i]->index, probability(pair.p_a[i]), probability(pair.p_b[i]))});
  }
  const std::string shown =
      step == 1 ? "Each dot is a point." : fmt::format("Each dot is a point; one in {} of {} is shown.", step, counted(points));
  chart.series.push_back(series);
  return figure(chart, fmt::format("{}, at {}. {} Equal estimates lie on the line.", chart.title, pair.noise, shown));
}

std::string charts_of_pairs(const Focus& focus, const std::vector<Comparison>& comparisons) {
  std::string html = "<div class=\"charts\">\n";
  std::size_t charts = 0;
  for (const Comparison& pair : comparisons) {
    const bool about_focus = pair.model == focus.model && pair.noise == focus.at_widest().key.noise &&
                             (pair.a == focus.estimator || pair.b == focus.estimator);
    if (!about_focus || pair.points.empty() || ++charts > kMostPairs) continue;
    html += chart_of_pair(pair);
  }
  return html + "</div>\n";
}

double median_radius(const GroupCertificates& group) {
  std::vector<double> radii;
  for (const Certificate& point : group.points) radii.push_back(point.radius);
  return quantile_of(radii, 0.5);
}

double largest_radius(const GroupCertificates& group) {
  double largest = 0;
  for (const Certificate& point : group.points) largest = std::max(largest, point.radius);
  return largest;
}

Table table_of_certificates(const Material& material, const std::vector<GroupCertificates>& groups) {
  Table table{"Certified radii by noise and estimator", material.key_columns(), {}};
  for (const char* title : {"points", "certified", "median radius", "largest radius"}) table.columns.push_back({title});
  for (const GroupCertificates& group : groups) {
    std::vector<std::string> cells = material.key_cells(group.key);
    const std::int64_t points = std::ssize(group.points);
    for (const std::string& cell : {counted(points), percent(static_cast<double>(group.certified) / static_cast<double>(points)),
                                    rounded(median_radius(group)), rounded(largest_radius(group))})
      cells.push_back(cell);
    table.rows.push_back(cells);
  }
  return table;
}

Chart chart_of_certificates(const Material& material, const std::vector<GroupCertificates>& groups) {
  Chart chart{.title = "Certified radii"};
  double largest = 0;
  for (const GroupCertificates& group : groups) largest = std::max(largest, largest_radius(group));
  chart.x = {.label = "radius (Euclidean distance, in the units of the data)", .low = 0};
  chart.y = {.label = "share of points certified at this radius", .low = 0, .high = 1};
  for (const GroupCertificates& group : groups) {
    Series series{(material.several_models() ? group.key.model + ", " : "") + group.key.noise + ", " + group.key.estimator, {}};
    for (int step = 0; step <= kRadii; ++step) {
      const double radius = largest * step / kRadii;
      series.points.push_back({.x = radius, .y = group.share_beyond(radius)});
    }
    chart.series.push_back(series);
  }
  return chart;
}

struct Attention {
  std::int64_t count = 0, answered = 0;
  const Row* first = nullptr;
};

const char* meaning(Status status) {
  switch (status) {
    case Status::ok:
      return "nothing to report";
    case Status::tie:
      return "several logits are largest at the point; the prediction is the lowest of these classes";
    case Status::decided:
      return "p is above or below the threshold, with 95% confidence";
    case Status::undecided:
      return "all samples were drawn, and the threshold is still within the interval";
    case Status::capped:
      return "the largest number of samples did not reach the requested half-width";
    case Status::bound:
      return "no noisy sample, or too few, failed: p_fail is an upper bound";
    case Status::approximate:
      return "the estimate is for normal noise of the same covariance, not for this noise";
    case Status::inexact:
      return "the numerical error is larger than usual";
    case Status::disagrees:
      return "two methods differ by more than their errors: do not rely on p";
    case Status::degenerate:
      return "no margin changes with the noise, or gradients are useless, as for a piecewise constant classifier";
    case Status::undefined:
      return "the estimator is not defined for this noise";
    case Status::nonfinite:
      return "the point, its logits or their gradients have NaN or infinite values";
    case Status::invalid:
      return "the estimated covariance of the margins is not a valid covariance matrix";
    case Status::unsupported:
      return "the estimator does not support this model";
    case Status::resources:
      return "the estimator needs more memory";
    case Status::numerical:
      return "a computation failed";
  }
  return "";
}

Table table_of_statuses(const std::map<Status, Attention>& statuses) {
  Table table{.caption = "Estimates by status",
              .columns = {{"status", false}, {"estimates"}, {"with p"}, {"meaning", false}, {"the first of them", false}},
              .wraps = true};
  for (const auto& [status, found] : statuses) {
    const Row& row = *found.first;
    std::string example = fmt::format("point {}, {}, {}", row.index, row.noise, row.estimator);
    if (!row.estimate.note.empty()) example += ": " + row.estimate.note;
    table.rows.push_back({std::string(word(status)), counted(found.count), counted(found.answered), meaning(status),
                          status == Status::ok ? "" : example});
  }
  return table;
}

}  // namespace

std::string agreement_section(const Material& material) {
  const std::vector<Comparison> comparisons = compare_estimators(material.run.results);
  if (comparisons.empty())
    return paragraph(
        "The run has one estimator and no logits, so there is nothing to compare. Run estimate with several, such as "
        "--estimator auto,mc:200.");
  std::string html = paragraph(
      "Two estimators of the same p should agree up to their errors. The softmax of the logits, often used as "
      "confidence, ignores the noise: a low correlation means that it does not show how robust a prediction is.");
  for (const Focus& focus : material.focuses) html += charts_of_pairs(focus, comparisons);
  html += table(table_of_comparisons(material, comparisons));
  return html + paragraph(
                    "Pearson's correlation is 1 if one is a linear function of the other, Spearman's if both order the points in "
                    "the same "
                    "way. A relative difference is |a - b| divided by the larger of the two: 0 if they are equal.");
}

std::string certificate_section(const Material& material) {
  std::vector<GroupCertificates> groups;
  std::string reason = "no estimator counts the noisy samples that survive";
  for (const RowGroup& group : material.groups) {
    GroupCertificates certificates = certificates_of(group);
    if (certificates.reason.empty() && !certificates.points.empty()) {
      groups.push_back(std::move(certificates));
    } else if (!certificates.reason.empty()) {
      reason = certificates.reason;
    }
  }
  if (groups.empty()) return paragraph("There are no certified radii: " + reason + ".");
  std::string html = paragraph(
      "Randomised smoothing (Cohen, Rosenfeld and Kolter, 2019) predicts the class that most noisy samples of a "
      "point get. Within the certified radius of a point, this smoothed classifier cannot change its prediction, "
      "whatever the perturbation; each radius holds with 99.9% confidence. It says nothing about the classifier "
      "without smoothing, and the number of samples limits it.");
  html += figure(chart_of_certificates(material, groups),
                 "The share of points, right or wrong, whose certified radius is at least the value on the horizontal axis.");
  return html + table(table_of_certificates(material, groups));
}

std::string status_section(const Material& material) {
  std::map<Status, Attention> statuses;
  std::int64_t unanswered = 0;
  for (const Row& row : material.run.results.rows) {
    Attention& found = statuses[row.estimate.status];
    const bool has_p = std::isfinite(row.estimate.p);
    if (found.first == nullptr) found.first = &row;
    ++found.count;
    found.answered += has_p ? 1 : 0;
    unanswered += has_p ? 0 : 1;
  }
  const std::int64_t estimates = std::ssize(material.run.results.rows);
  return paragraph(
             fmt::format("{} of {} have no p; they are left out of all other numbers. Each estimate has a status that says what "
                         "it is worth.",
                         counted(unanswered), counted(estimates, "estimate"))) +
         table(table_of_statuses(statuses));
}

}  // namespace probust::report
