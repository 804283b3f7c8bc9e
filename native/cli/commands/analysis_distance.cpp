// SPDX-License-Identifier: MIT
// probust distance: the distances at which the prediction changes, for comparison with p. From the counts of noisy samples in a
// run, it computes the radius that randomised smoothing certifies; with the model and data, it also searches for the nearest
// boundary.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "cli/command_line.h"
#include "cli/commands/analysis_options.h"
#include "cli/commands/analysis_output.h"
#include "cli/interrupt.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output/progress_line.h"
#include "cli/output/text_table.h"
#include "cli/run/load.h"
#include "datasets/json.h"
#include "probust/analysis/describe.h"
#include "probust/analysis/distances.h"
#include "probust/analysis/summary.h"
#include "probust/base/error.h"

namespace probust::cli {
namespace {

// ---- nearest boundaries

struct FoundBoundaries {
  Boundaries points;
  BoundaryMethod method;
};

// The nearest boundaries of all points; empty if the search was interrupted, which this function reports.
std::optional<FoundBoundaries> boundaries_of(const Arguments& arguments) {
  const Dataset data = load_data(arguments);
  LoadedModel model = load_model(arguments, load_options(arguments, point_shape(data.x)));
  Executor& executor = model.executor();
  FoundBoundaries boundaries{{}, boundary_method(executor)};
  const std::int64_t n = data.x.shape[0];
  std::atomic<std::int64_t> done{0};
  const ProgressLine line("nearest boundaries", done, n, arguments.quiet);
  const auto work = [&] {
    const Tensor logits = model.logits(data.x);
    const Points points{data.x, data.index, predicted_classes(logits), arguments.question.seed};
    for (std::int64_t i = 0; i < n; ++i, ++done)
      boundaries.points.emplace(points.index[i],
                                nearest_boundary_by(boundaries.method, executor, slice(points, i, 1)).value().front());
    return 0;
  };
  const int status = run_interruptibly(executor.progress.stop, work, [] { return std::string("nothing was printed"); });
  if (status != 0) return std::nullopt;
  return boundaries;
}

// ---- a group

std::vector<double> radii_of(const GroupCertificates& certificates) {
  std::vector<double> radii;
  for (const Certificate& certificate : certificates.points) radii.push_back(certificate.radius);
  return radii;
}

void print_certificates(const GroupCertificates& certificates) {
  if (!certificates.reason.empty()) {
    fmt::print("  certified radius: - ({})\n", certificates.reason);
    return;
  }
  const std::vector<double> radii = radii_of(certificates);
  fmt::print("  certified radius: {} of {} points with {:.4g}% confidence each; quartiles {}, {}, {}\n", certificates.certified,
             certificates.points.size(), 100 * certificates.confidence, short_number(quantile_of(radii, 0.25)),
             short_number(quantile_of(radii, 0.5)), short_number(quantile_of(radii, 0.75)));
}

void print_boundaries(const std::vector<PointDistances>& points) {
  std::vector<double> distances;
  distances.reserve(points.size());
  for (const PointDistances& point : points) distances.push_back(point.boundary == nullptr ? NAN : point.boundary->distance);
  fmt::print("  nearest boundary: quartiles {}, {}, {}; Spearman's correlation with p {}\n",
             short_number(quantile_of(distances, 0.25)), short_number(quantile_of(distances, 0.5)),
             short_number(quantile_of(distances, 0.75)), short_number(boundary_and_p(points).spearman));
}

std::string boundary_text(const NearestBoundary* boundary) {
  if (boundary == nullptr || std::isnan(boundary->distance)) return "-";
  return std::isinf(boundary->distance) ? "none found" : short_number(boundary->distance);
}

void print_distances(const GroupCertificates& certificates, const std::vector<PointDistances>& points, std::int64_t count,
                     const std::vector<std::string>& names) {
  const bool boundaries = std::any_of(points.begin(), points.end(), [](const auto& point) { return point.boundary != nullptr; });
  fmt::print("{}\n", group_text(certificates.key));
  print_certificates(certificates);
  if (boundaries) print_boundaries(points);
  if (!boundaries && certificates.points.empty()) return;
  TextTable table(
      {"index", "<label", "<predicted", "p", "p at least", "certified", boundaries ? "nearest" : "", boundaries ? "<then" : "<"});
  for (std::int64_t i = 0; i < std::min<std::int64_t>(count, std::ssize(points)); ++i) {
    const auto& [row, certificate, boundary] = points[i];
    table.add({std::to_string(row->index), row->label ? class_text(*row->label, names) : "-", class_text(row->predicted, names),
               probability_text(row->estimate.p), certificate == nullptr ? "-" : probability_text(certificate->p_low),
               certificate == nullptr    ? "-"
               : certificate->radius > 0 ? short_number(certificate->radius)
                                         : "none",
               boundaries ? boundary_text(boundary) : "",
               boundary != nullptr && boundary->rival >= 0 ? class_text(boundary->rival, names) : ""});
  }
  fmt::print("{}", table.text());
}

// ---- charts

report::Series boundary_series(const GroupKey& key, const std::vector<PointDistances>& points) {
  report::Series series{group_text(key), {}};
  for (const PointDistances& point : points) {
    if (point.boundary != nullptr)
      series.points.push_back(
          {point.boundary->distance, point.row->estimate.p, {}, {}, fmt::format("point {}", point.row->index)});
  }
  return series;
}

report::Series certified_series(const GroupCertificates& certificates) {
  constexpr int kPlaces = 100;
  report::Series series{group_text(certificates.key), {}};
  const std::vector<double> radii = radii_of(certificates);
  const double largest = radii.empty() ? 0 : *std::max_element(radii.begin(), radii.end());
  for (int k = 0; k <= kPlaces && largest > 0; ++k) {
    const double radius = largest * k / kPlaces;
    series.points.push_back({radius, 100 * certificates.share_beyond(radius)});
  }
  if (largest > 0) series.points.push_back({largest, 0});
  return series;
}

report::Chart boundary_chart() {
  report::Chart chart{.title = "p and the distance to the nearest boundary", .mark = report::Mark::scatter};
  chart.x = {.label = "distance to the nearest boundary", .low = 0};
  chart.y = {.label = "p", .low = 0, .high = 1};
  return chart;
}

report::Chart certified_chart() {
  report::Chart chart{.title = "Points with a certified radius of at least r"};
  chart.x = {.label = "r", .low = 0};
  chart.y = {.label = "share of points, %", .low = 0, .high = 100};
  return chart;
}

int run_distance(const Arguments& arguments) {
  if (!(arguments.analysis.confidence >= 0.5 && arguments.analysis.confidence < 1))
    throw Error{ErrorCode::usage, "--confidence", "is not between 0.5 and 1", "try 0.999"};
  if (!arguments.question.tolerance.empty())
    throw Error{ErrorCode::usage, "--tolerance", "applies to regression models, which have no boundaries", "leave it out"};
  const RunResults run = selected_results(arguments);
  std::optional<FoundBoundaries> boundaries;
  if (!is_run(arguments.model)) {
    boundaries = boundaries_of(arguments);
    if (!boundaries) return kInterrupted;
  } else if (!arguments.quiet) {
    say("nearest boundaries need the model: give MODEL DATA instead of a run\n");
  }
  report::Chart chart = boundaries ? boundary_chart() : certified_chart();
  Document json = Document::Object{{"warnings", run.warnings}, {"boundary", nullptr}, {"groups", Document::List{}}};
  if (boundaries) json["boundary"] = std::string(describe(boundaries->method));
  const std::vector<RowGroup> groups = grouped(run.results.rows);
  for (const RowGroup& group : groups) {
    const GroupCertificates certificates = certificates_of(group, arguments.analysis.confidence);
    const std::vector<PointDistances> points = distances_of(group, certificates, boundaries ? &boundaries->points : nullptr);
    chart.series.push_back(boundaries ? boundary_series(group.key, points) : certified_series(certificates));
    if (arguments.json) {
      json["groups"].push_back(describe(certificates, points));
    } else {
      fmt::print("{}", &group == groups.data() ? "" : "\n");
      print_distances(certificates, points, arguments.analysis.count, run.class_names);
    }
  }
  if (arguments.json) fmt::print("{}\n", datasets::json_text(json, 2));
  std::erase_if(chart.series, [](const report::Series& series) { return series.points.empty(); });
  write_plot(arguments, chart);
  return 0;
}

}  // namespace

void describe_distance(CommandLine& line) {
  auto [command, own] = add_analysis(line, "distance", "certified radii and nearest boundaries, next to p", run_distance);
  command.add_option("--count", own.analysis.count, "number of points to show").at_least(1).show_default();
  command.add_option("--confidence", own.analysis.confidence, "confidence of each certified radius").show_default();
}

}  // namespace probust::cli
