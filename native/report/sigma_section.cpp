// SPDX-License-Identifier: MIT
// The section on p as a function of sigma: its mean, its distribution over the points, and the largest sigma that points
// tolerate.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "report/sections.h"
#include "report/words.h"

namespace probust::report {
namespace {

constexpr std::array kThresholds = {0.5, 0.9, 0.99};
constexpr int kSteps = 100;  // number of steps in the chart of a distribution

std::string name_of(const RowSweep& sweep, const Material& material) {
  return (material.several_models() ? sweep.model + ", " : "") + sweep.estimator;
}

// One chart for each shape of noise that has several scales.
std::string charts_of_means(const Material& material) {
  std::map<std::string, Chart> of_shape;
  for (const RowSweep& sweep : material.sweeps) {
    if (sweep.scales.size() < 2) continue;
    Chart& chart = of_shape.try_emplace(sweep.shape, Chart{.title = "Mean p against sigma, " + sweep.shape}).first->second;
    chart.x = {.label = "sigma", .logarithmic = true, .every_value = true};
    chart.y = {.label = "mean p", .low = 0, .high = 1};
    Series series{name_of(sweep, material), {}};
    for (const SweepScale& scale : sweep.scales) {
      if (std::isfinite(scale.p.mean))
        series.points.push_back({.x = scale.sigma, .y = scale.p.mean, .low = scale.p.low, .high = scale.p.high});
    }
    chart.series.push_back(series);
  }
  std::string html;
  for (const auto& [shape, chart] : of_shape)
    html += figure(chart, "The mean of p over the points at each scale of " + shape + " noise, with its 95% interval.");
  return html;
}

// The share of points whose p is at most x, as a function of x.
Series distribution_of(const RowGroup& group) {
  std::vector<double> p = group.p();
  std::erase_if(p, [](double value) { return !std::isfinite(value); });
  std::sort(p.begin(), p.end());
  Series series{group.key.noise, {}};
  for (int step = 0; step <= kSteps && !p.empty(); ++step) {
    const double x = static_cast<double>(step) / kSteps;
    const auto below = static_cast<double>(std::upper_bound(p.begin(), p.end(), x) - p.begin());
    series.points.push_back({.x = x, .y = below / static_cast<double>(p.size())});
  }
  return series;
}

std::string chart_of_distributions(const Material& material, const Focus& focus) {
  Chart chart{.title = "Distribution of p"};
  chart.x = {.label = "p", .low = 0, .high = 1};
  chart.y = {.label = "share of points with p at most this", .low = 0, .high = 1};
  for (const RowGroup* group : focus.few()) chart.series.push_back(distribution_of(*group));
  return figure(
      chart,
      fmt::format("The share of points {}whose p, by {}, is at most the value on the horizontal axis. A curve that stays low "
                  "until p is nearly 1 means that most predictions survive.",
                  material.of_model(focus.model), focus.estimator));
}

Table table_of_tolerances(const Material& material, const RowSweep& sweep) {
  Table table{fmt::format("The sigma of {} noise at which p falls to a threshold, over the points {}by {}", sweep.shape,
                          material.of_model(sweep.model), sweep.estimator),
              {{"threshold"}},
              {}};
  for (const double share : Tolerances::kShares)
    table.columns.push_back({share == 0.5 ? "median" : fmt::format("{:.0f}% below", 100 * share)});
  for (const char* title : {"already at the smallest sigma", "not at the largest sigma"}) table.columns.push_back({title});
  for (const double threshold : kThresholds) {
    const Tolerances tolerances = tolerances_of(sweep, threshold);
    const std::int64_t points = std::ssize(tolerances.points);
    if (points == 0) continue;
    std::vector<std::string> cells{rounded(threshold)};
    for (const ToleratedScale& scale : tolerances.quantiles) cells.push_back(tolerated(scale));
    for (const std::int64_t beyond : {tolerances.below, tolerances.above})
      cells.push_back(percent(static_cast<double>(beyond) / static_cast<double>(points)));
    table.rows.push_back(cells);
  }
  return table;
}

}  // namespace

std::string sigma_section(const Material& material) {
  const std::string means = charts_of_means(material);
  std::string html = means;
  if (means.empty())
    html += paragraph(
        "The run has a single scale, so there is no curve of p against sigma. Run estimate with several, "
        "such as --sigma 0.05,0.1,0.2, to see one.");
  for (const Focus& focus : material.focuses) {
    html += chart_of_distributions(material, focus);
    if (const RowSweep* sweep = material.sweep_of(focus)) html += table(table_of_tolerances(material, *sweep));
  }
  if (!means.empty())
    html += paragraph(
        "A point tolerates noise up to the sigma at which its p falls to a threshold. It is interpolated between the scales of "
        "the run; < marks points whose p is below the threshold even at the smallest scale, and > marks those whose p is above "
        "it even at the largest.");
  return html;
}

}  // namespace probust::report
