// SPDX-License-Identifier: MIT
// probust curvature: measures how far the margins are from linear at the scale of the noise, with the error bounds of Han et
// al. and the curvature of the smoothed margins.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "cli/command_line.h"
#include "cli/commands/analysis_output.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output/progress_line.h"
#include "cli/output/text_table.h"
#include "cli/run/first_check.h"
#include "cli/run/load.h"
#include "cli/run/problem.h"
#include "datasets/json.h"
#include "datasets/noise_files.h"
#include "probust/analysis/describe.h"
#include "probust/analysis/geometry/curvature.h"
#include "probust/analysis/geometry/smoothed_curvature.h"
#include "probust/analysis/summary.h"
#include "probust/autodiff/vjp.h"
#include "probust/base/error.h"
#include "probust/run/request.h"

namespace probust::cli {
namespace {

struct CurvatureArguments : Arguments {
  std::int64_t pairs = 100;  ///< antithetic pairs of noisy samples
};

/// The results of all points under one noise model. A part that cannot be computed is empty and comes with a reason.
struct NoiseCurvature {
  Noise noise;
  std::vector<Curvature> margins;
  std::vector<QuadraticBound> bounds;
  std::vector<SmoothedCurvature> smoothed;
  std::string no_margins, no_bounds, no_smoothed;
};

struct CurvatureProblem {
  Problem problem;
  Points points;
  std::vector<std::int64_t> labels;
  bool piecewise_linear = false;
};

CurvatureProblem load_curvature_problem(const CurvatureArguments& arguments, const std::vector<Noise>& noises) {
  CurvatureProblem loaded{load_problem(arguments, noises), {}, {}, false};
  Problem& problem = loaded.problem;
  report_notes(problem.notes, arguments.quiet);
  const std::int64_t planned = 2 * arguments.pairs * point_count(problem) * std::ssize(noises);
  say_warnings(first_check(problem, noises, planned).warnings);
  PointBlock block = read_points(problem, first_position(problem), point_count(problem));
  report_bad(skipped_points(problem.data->bad()));
  loaded.labels = block.labels;
  const Tensor logits = problem.model.logits(block.x);
  std::vector<std::int64_t> targets = targets_of(arguments.question.target, block.labels, logits, problem.class_names);
  loaded.points = {std::move(block.x), std::move(block.index), std::move(targets), arguments.question.seed};
  const LoadOptions options = load_options(arguments, point_shape(loaded.points.x));
  loaded.piecewise_linear =
      problem.model.executor().differentiable() && is_piecewise_linear(import_model(arguments, options).graph);
  return loaded;
}

// The reason why bounds and eigenvalues cannot be computed; empty if they can be.
std::string without_gradients(Executor& executor, const Noise& noise) {
  if (!executor.differentiable() || executor.piecewise_constant()) return "the model has no gradients";
  if (noise.shape->name() != isotropic_gaussian()->name()) return "defined only for isotropic Gaussian noise";
  return "";
}

// Computes one point at a time, so that the progress is shown and an interruption takes effect.
NoiseCurvature curvature_under(CurvatureProblem& loaded, const Noise& noise, const CurvatureArguments& arguments,
                               std::atomic<std::int64_t>& done) {
  Executor& executor = loaded.problem.model.executor();
  NoiseCurvature result{noise, {}, {}, {}, {}, {}, {}};
  if (!noise.shape->mirrored()) result.no_margins = "this noise is not symmetric about x";
  result.no_bounds = result.no_smoothed = without_gradients(executor, noise);
  if (result.no_bounds.empty() && loaded.piecewise_linear)
    result.no_bounds = "undefined: the model is piecewise linear, with a Hessian of zero almost everywhere";
  for (std::int64_t i = 0; i < loaded.points.size(); ++i, ++done) {
    const Points point = slice(loaded.points, i, 1);
    if (result.no_margins.empty()) result.margins.push_back(curvature(executor, point, noise, arguments.pairs).value().front());
    if (result.no_bounds.empty()) result.bounds.push_back(quadratic_bounds(executor, point, noise.scale).value().front());
    if (result.no_smoothed.empty())
      result.smoothed.push_back(smoothed_curvature(executor, point, noise.scale, {.pairs = arguments.pairs}).value().front());
  }
  return result;
}

// ---- tables

template <class T, class F>
std::vector<double> values_of(const std::vector<T>& all, const F& value) {
  std::vector<double> values;
  values.reserve(all.size());
  for (const T& each : all) values.push_back(value(each));
  return values;
}

std::string quartiles(const std::vector<double>& values) {
  return fmt::format("quartiles {}, {}, {}; largest {}", short_number(quantile_of(values, 0.25)),
                     short_number(quantile_of(values, 0.5)), short_number(quantile_of(values, 0.75)),
                     short_number(quantile_of(values, 1)));
}

std::vector<double> shifts(const NoiseCurvature& result) {
  return values_of(result.margins, [](const Curvature& c) { return c.largest_shift; });
}
std::vector<double> scatters(const NoiseCurvature& result) {
  return values_of(result.margins, [](const Curvature& c) { return c.largest_scatter; });
}

void print_margins(const NoiseCurvature& result) {
  if (!result.no_margins.empty()) return fmt::print("  shift and scatter: - ({})\n", result.no_margins);
  fmt::print("  shift: {}\n  scatter: {}\n", quartiles(shifts(result)), quartiles(scatters(result)));
}

void print_bounds(const NoiseCurvature& result) {
  if (!result.no_bounds.empty()) return fmt::print("  propositions 1 and 2: - ({})\n", result.no_bounds);
  const auto defined = std::count_if(result.bounds.begin(), result.bounds.end(), [](const auto& bound) { return bound.defined; });
  fmt::print("  propositions 1 and 2: defined for {} of {} points\n", defined, result.bounds.size());
  const auto open = std::count_if(result.bounds.begin(), result.bounds.end(), [](const auto& bound) { return !bound.converged; });
  if (open > 0) fmt::print("  eigenvalues not converged for {} points: their bounds may be too small\n", open);
  fmt::print("  summed bound: {}\n", quartiles(values_of(result.bounds, [](const QuadraticBound& b) { return b.summed; })));
}

void print_smoothed(const NoiseCurvature& result) {
  if (!result.no_smoothed.empty()) return fmt::print("  smoothed margin: - ({})\n", result.no_smoothed);
  const auto line = [&](const char* what, Sampled SmoothedCurvature::*part) {
    fmt::print("  {} eigenvalue: {}\n", what,
               quartiles(values_of(result.smoothed, [&](const auto& s) { return (s.*part).value; })));
  };
  line("largest", &SmoothedCurvature::largest);
  line("mean", &SmoothedCurvature::mean);
  line("smallest", &SmoothedCurvature::smallest);
}

std::string sampled_text(const Sampled& number) {
  return fmt::format("{} +- {}", short_number(number.value), short_number(number.std_error));
}

void print_curvature(const NoiseCurvature& result, const CurvatureProblem& loaded, std::int64_t count) {
  fmt::print("{}, {} points\n", result.noise.text(), loaded.points.size());
  print_margins(result);
  print_bounds(result);
  print_smoothed(result);
  TextTable table(
      {"index", "<class", "shift", "scatter", "prop. 1", "prop. 2", "summed", "<rival", "largest", "mean", "smallest"});
  const std::vector<std::string>& names = loaded.problem.class_names;
  for (std::int64_t i = 0; i < std::min(count, loaded.points.size()); ++i) {
    std::vector<std::string> cells{std::to_string(loaded.points.index[i]), class_text(loaded.points.target[i], names)};
    const bool margins = result.no_margins.empty(), bounds = result.no_bounds.empty(), smoothed = result.no_smoothed.empty();
    cells.push_back(margins ? short_number(result.margins[i].largest_shift) : "-");
    cells.push_back(margins ? short_number(result.margins[i].largest_scatter) : "-");
    cells.push_back(bounds && result.bounds[i].defined ? short_number(result.bounds[i].taylor) : "undefined");
    cells.push_back(bounds && result.bounds[i].defined ? short_number(result.bounds[i].mmse) : "undefined");
    cells.push_back(bounds ? short_number(result.bounds[i].summed) : "-");
    cells.push_back(smoothed ? class_text(result.smoothed[i].rival, names) : "-");
    cells.push_back(smoothed ? sampled_text(result.smoothed[i].largest) : "-");
    cells.push_back(smoothed ? sampled_text(result.smoothed[i].mean) : "-");
    cells.push_back(smoothed ? sampled_text(result.smoothed[i].smallest) : "-");
    table.add(std::move(cells));
  }
  fmt::print("{}", table.text());
}

// ---- JSON

Document json_sampled(const Sampled& number) {
  return Document::Object{{"value", number.value}, {"std_error", number.std_error}};
}

Document json_bound(const QuadraticBound& bound) {
  Document json = Document::Object{{"defined", bound.defined},
                                   {"converged", bound.converged},
                                   {"taylor", bound.defined ? Document(bound.taylor) : Document()},
                                   {"mmse", bound.defined ? Document(bound.mmse) : Document()},
                                   {"k", bound.k},
                                   {"summed", bound.summed}};
  return json;
}

Document json_smoothed(const SmoothedCurvature& smoothed) {
  return Document::Object{{"rival", smoothed.rival},
                          {"margin", smoothed.margin},
                          {"gradient_norm", smoothed.gradient_norm},
                          {"largest", json_sampled(smoothed.largest)},
                          {"mean", json_sampled(smoothed.mean)},
                          {"smallest", json_sampled(smoothed.smallest)}};
}

Document curvature_json(const NoiseCurvature& result, const CurvatureProblem& loaded) {
  Document json = Document::Object{{"noise", result.noise.text()},
                                   {"sigma", result.noise.sigma()},
                                   {"no_shift", Document::text_or_null(result.no_margins)},
                                   {"no_bounds", Document::text_or_null(result.no_bounds)},
                                   {"no_smoothed", Document::text_or_null(result.no_smoothed)},
                                   {"points", Document::List{}}};
  for (std::int64_t i = 0; i < loaded.points.size(); ++i) {
    Document point = Document::Object{{"index", loaded.points.index[i]}, {"target", loaded.points.target[i]}};
    if (result.no_margins.empty()) {
      point["shift"] = result.margins[i].largest_shift;
      point["scatter"] = result.margins[i].largest_scatter;
    }
    point["bounds"] = result.no_bounds.empty() ? json_bound(result.bounds[i]) : Document();
    point["smoothed"] = result.no_smoothed.empty() ? json_smoothed(result.smoothed[i]) : Document();
    json["points"].push_back(std::move(point));
  }
  return json;
}

// ---- chart

report::Series series_of(const NoiseCurvature& result, const CurvatureProblem& loaded) {
  report::Series series{result.noise.text(), {}};
  const std::vector<double> x = shifts(result), y = scatters(result);
  for (std::size_t i = 0; i < x.size(); ++i)
    series.points.push_back({x[i], y[i], {}, {}, fmt::format("point {}", loaded.points.index[i])});
  return series;
}

report::Chart curvature_chart() {
  report::Chart chart{.title = "Nonlinearity of the margins at the scale of the noise", .mark = report::Mark::scatter};
  chart.x = {.label = "largest shift, standard deviations", .low = 0};
  chart.y = {.label = "largest scatter, standard deviations", .low = 0};
  return chart;
}

int run_curvature(const CurvatureArguments& arguments) {
  check_plot(arguments);
  const std::vector<Noise> noises = noises_of_data(arguments, datasets::noise_files());
  CurvatureProblem loaded = load_curvature_problem(arguments, noises);
  std::vector<NoiseCurvature> results;
  std::atomic<std::int64_t> done{0};
  const auto work = [&] {
    const ProgressLine line("curvature", done, loaded.points.size() * std::ssize(noises), arguments.quiet);
    for (const Noise& noise : noises) results.push_back(curvature_under(loaded, noise, arguments, done));
    return 0;
  };
  const int status =
      run_interruptibly(loaded.problem.model.progress().stop, work, [] { return std::string("nothing was printed"); });
  if (status != 0) return status;
  Document json = Document::Object{{"pairs", arguments.pairs}, {"groups", Document::List{}}};
  report::Chart chart = curvature_chart();
  for (const NoiseCurvature& result : results) {
    chart.series.push_back(series_of(result, loaded));
    if (arguments.json) {
      json["groups"].push_back(curvature_json(result, loaded));
    } else {
      fmt::print("{}", &result == results.data() ? "" : "\n");
      print_curvature(result, loaded, arguments.analysis.count);
    }
  }
  if (arguments.json) fmt::print("{}\n", datasets::json_text(json, 2));
  std::erase_if(chart.series, [](const report::Series& series) { return series.points.empty(); });
  write_plot(arguments, chart);
  return 0;
}

}  // namespace

void describe_curvature(CommandLine& line) {
  auto [command, own] = line.add<CurvatureArguments>(
      "curvature", "nonlinearity of the margins at the scale of the noise, and error bounds", run_curvature);
  add_model(command, own);
  add_decision_options(command, own);
  add_data(command, own);
  add_device_options(command, own);
  command.add_option("--sigma", own.question.sigma, "noise scales in the data's units: 0.1,0.2, or 0.01..1:20")
      .one_argument_each();
  command
      .add_option("--noise", own.question.noise,
                  "noise models, as for estimate; other than gaussian:S, only for shift and scatter")
      .one_argument_each();
  command.add_option("--target", own.question.target, "class of the margins: predicted, label, a number or a name")
      .show_default();
  command.add_option("--pairs", own.pairs, "antithetic pairs of noisy samples for each quantity").at_least(2).show_default();
  command.add_option("--count", own.analysis.count, "number of points to show").at_least(1).show_default();
  command.add_option("--seed", own.question.seed, "random seed for the noise").show_default();
  command.add_flag("--no-check", own.no_check, "skip the check of data, preprocessing and labels");
  command.add_flag("--json", own.json, "print one JSON object, with all points");
  command.add_option("--plot", own.analysis.plot, "also write a chart to this .svg file");
  command.add_flag("--quiet", own.quiet, "do not print progress on stderr");
  command.set_footer(
      "shift: the largest mean error of a linearisation at x, over rivals. scatter: the largest standard deviation of that "
      "error.\n"
      "Both are in standard deviations of the margin's linear part. prop. 1, prop. 2: the products in the paper's bounds.\n"
      "summed: an upper bound of the error of taylor if boundaries are quadratic. largest, mean, smallest: eigenvalues of the\n"
      "Hessian of the smoothed margin over the nearest rival, with standard errors.");
}

}  // namespace probust::cli
