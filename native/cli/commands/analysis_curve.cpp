// SPDX-License-Identifier: MIT
// probust curve: p as a function of sigma. probust agree: compares estimators with each other.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/command_line.h"
#include "cli/commands/analysis_options.h"
#include "cli/commands/analysis_output.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output/text_table.h"
#include "datasets/json.h"
#include "probust/analysis/agree.h"
#include "probust/analysis/describe.h"
#include "probust/analysis/sweeps.h"
#include "probust/base/error.h"
#include "probust/base/text.h"

namespace probust::cli {
namespace {

using Kind = ToleratedScale::Kind;

// ---- curve

std::string sweep_text(const RowSweep& sweep) {
  return (sweep.model.empty() ? "" : sweep.model + ": ") + sweep.shape + ", " + sweep.estimator;
}

// The run's sweeps with at least two scales. Throws Error{usage} if there are none.
std::vector<RowSweep> sweeps_to_show(const RunResults& run, const Arguments& arguments) {
  std::vector<RowSweep> sweeps = sweeps_of(run.results.rows);
  const std::size_t all = sweeps.size();
  std::erase_if(sweeps, [](const RowSweep& sweep) { return sweep.scales.size() < 2; });
  if (sweeps.empty())
    throw Error{ErrorCode::usage, arguments.model, "has rows for a single noise scale, but a curve needs two",
                "estimate with, say, --sigma 0.05,0.1,0.2"};
  if (sweeps.size() < all && !arguments.quiet)
    say("probust: {} of {} combinations of noise and estimator have a single noise scale and are left out\n", all - sweeps.size(),
        all);
  return sweeps;
}

// A scale such as "0.12", or "<0.05" or ">0.2" if it is outside the sweep.
std::string scale_text(const ToleratedScale& scale) {
  const char* sign = scale.kind == Kind::below ? "<" : scale.kind == Kind::above ? ">" : "";
  return sign + fmt::format("{:.4g}", scale.sigma);
}

void print_curves(const std::vector<RowSweep>& sweeps, double threshold) {
  TextTable means({"<noise", "<estimator", "sigma", "points", "mean p", "95%"});
  TextTable scales(
      {"<noise", "<estimator", "points", "5%", "25%", "median", "75%", "95%", "below", "within", "above", "without p"});
  for (const RowSweep& sweep : sweeps) {
    const std::string noise = (sweep.model.empty() ? "" : sweep.model + ": ") + sweep.shape;
    for (const SweepScale& scale : sweep.scales)
      means.add({noise, sweep.estimator, shortest_text(scale.sigma), std::to_string(scale.p.count),
                 probability_text(scale.p.mean), interval_text(scale.p.low, scale.p.high)});
    const Tolerances tolerances = tolerances_of(sweep, threshold);
    std::vector<std::string> cells = {noise, sweep.estimator, std::to_string(tolerances.points.size())};
    for (std::size_t k = 0; k < Tolerances::kShares.size(); ++k)
      cells.push_back(tolerances.quantiles.empty() ? "-" : scale_text(tolerances.quantiles[k]));
    for (const std::int64_t count : {tolerances.below, tolerances.within, tolerances.above, tolerances.unanswered})
      cells.push_back(std::to_string(count));
    scales.add(std::move(cells));
  }
  fmt::print(
      "{}\nsigma at which p falls to {}: quantiles over the points, and numbers of points below, within and above the scales\n{}",
      means.text(), shortest_text(threshold), scales.text());
}

report::Chart curve_chart(const std::vector<RowSweep>& sweeps) {
  report::Chart chart{.title = "Mean p against sigma"};
  chart.x = {.label = "sigma", .logarithmic = true, .every_value = true};
  chart.y = {.label = "mean p, with 95% bands", .low = 0, .high = 1};
  for (const RowSweep& sweep : sweeps) {
    report::Series series{sweep_text(sweep), {}};
    for (const SweepScale& scale : sweep.scales)
      series.points.push_back({scale.sigma, scale.p.mean, scale.p.low, scale.p.high, ""});
    chart.series.push_back(std::move(series));
  }
  return chart;
}

// ---- agree

std::string compared_text(const Comparison& comparison) { return comparison.a + " and " + comparison.b; }

void print_agreement(const std::vector<Comparison>& comparisons) {
  TextTable table(
      {"<noise", "<estimators", "points", "Pearson", "Spearman", "|a-b|", "a-b", "largest", "relative, p", "relative, p_fail"});
  for (const Comparison& comparison : comparisons) {
    const Agreement& p = comparison.p;
    table.add({(comparison.model.empty() ? "" : comparison.model + ": ") + comparison.noise, compared_text(comparison),
               std::to_string(p.count), short_number(p.pearson), short_number(p.spearman), short_number(p.mae),
               short_number(p.bias), short_number(p.largest), short_number(comparison.relative_p),
               short_number(comparison.relative_fail)});
  }
  fmt::print("{}relative: mean of |a-b| / p of mc (or of a, without mc), over points at which that is positive\n", table.text());
}

// A scatter chart with one series per pair of estimators. A series has the points of all noise models.
report::Chart agree_chart(const std::vector<Comparison>& comparisons) {
  report::Chart chart{.title = "p of the same points by two estimators", .mark = report::Mark::scatter, .diagonal = true};
  chart.x = {.label = "a", .low = 0, .high = 1};
  chart.y = {.label = "b", .low = 0, .high = 1};
  for (const Comparison& comparison : comparisons) {
    const std::string name = "a: " + comparison.a + ", b: " + comparison.b;
    auto series = std::find_if(chart.series.begin(), chart.series.end(), [&](const auto& one) { return one.name == name; });
    if (series == chart.series.end()) series = chart.series.insert(series, report::Series{name, {}});
    for (std::size_t i = 0; i < comparison.points.size(); ++i)
      series->points.push_back(
          {comparison.p_a[i], comparison.p_b[i], {}, {}, fmt::format("point {}", comparison.points[i]->index)});
  }
  return chart;
}

int run_curve(const Arguments& arguments) {
  if (!(arguments.analysis.threshold > 0 && arguments.analysis.threshold < 1))
    throw Error{ErrorCode::usage, "--threshold", "is not between 0 and 1", "give a probability, for example 0.9"};
  const RunResults run = selected_results(arguments);
  const std::vector<RowSweep> sweeps = sweeps_to_show(run, arguments);
  if (arguments.json) {
    const auto one = [&](const RowSweep& sweep) { return describe(sweep, arguments.analysis.threshold); };
    const Document json = Document::Object{{"warnings", run.warnings}, {"curves", Document::list(sweeps, one)}};
    fmt::print("{}\n", datasets::json_text(json, 2));
  } else {
    print_curves(sweeps, arguments.analysis.threshold);
  }
  write_plot(arguments, curve_chart(sweeps));
  return 0;
}

int run_agree(const Arguments& arguments) {
  const RunResults run = selected_results(arguments);
  const std::vector<Comparison> comparisons = compare_estimators(run.results);
  if (comparisons.empty())
    throw Error{ErrorCode::usage, arguments.model, "has one estimator and no logits, so there is nothing to compare",
                "estimate with, say, --estimator auto,mc:1000"};
  if (arguments.json) {
    const auto one = [](const Comparison& comparison) { return describe(comparison); };
    const Document json = Document::Object{{"warnings", run.warnings}, {"pairs", Document::list(comparisons, one)}};
    fmt::print("{}\n", datasets::json_text(json, 2));
  } else {
    print_agreement(comparisons);
  }
  write_plot(arguments, agree_chart(comparisons));
  return 0;
}

}  // namespace

void describe_curve(CommandLine& line) {
  auto [command, own] =
      add_analysis(line, "curve", "p against sigma, and the sigma each point tolerates", run_curve, "--decision-threshold");
  command.add_option("--threshold", own.analysis.threshold, "p below which a point no longer tolerates the noise").show_default();
}

void describe_agree(CommandLine& line) {
  add_analysis(line, "agree", "agreement of estimators with each other and with the softmax probability", run_agree);
}

}  // namespace probust::cli
