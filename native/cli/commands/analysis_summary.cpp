// SPDX-License-Identifier: MIT
// probust summary, bias and rank: the results of a run as a whole, by class, and by point.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/command_line.h"
#include "cli/commands/analysis_options.h"
#include "cli/commands/analysis_output.h"
#include "cli/options.h"
#include "cli/output/gallery.h"
#include "cli/output/progress_line.h"
#include "cli/output/text_table.h"
#include "datasets/json.h"
#include "probust/analysis/bias.h"
#include "probust/analysis/describe.h"
#include "probust/analysis/ranking.h"
#include "probust/analysis/summary.h"
#include "probust/base/text.h"

namespace probust::cli {
namespace {

std::string whose(const std::string& model) { return model.empty() ? "" : model + ": "; }

// ---- summary

std::string accuracy_text(const CleanAccuracy& model) {
  const Proportion& right = model.accuracy;
  if (right.of == 0) return fmt::format("{}clean accuracy - (no labels), {} points\n", whose(model.model), model.points);
  return fmt::format("{}clean accuracy {:.2f}% (95%: {:.2f}..{:.2f}%), {} of {} labelled points\n", whose(model.model),
                     100 * right.share, 100 * right.low, 100 * right.high, right.count, right.of);
}

std::string percent_text(double share) { return std::isfinite(share) ? fmt::format("{:.2f}%", 100 * share) : "-"; }

// An accuracy such as "73.25%".
std::string accuracy_text(const MeanInterval& accuracy) {
  return accuracy.count == 0 ? "-" : fmt::format("{:.2f}%", 100 * accuracy.mean);
}

std::string percents_text(double low, double high) {
  return std::isfinite(low) && std::isfinite(high) ? fmt::format("{:.2f}..{:.2f}%", 100 * low, 100 * high) : "-";
}

// A mean or a quantile of p. Values below 1e-6 are not shown, because no practical number of samples could resolve them.
std::string summary_text(double p) { return p > 0 && p < 1e-6 ? "<1e-06" : probability_text(p); }

// The numbers of points without p by status, such as "3 nonfinite, 1 undefined".
std::string unanswered_text(const GroupSummary& group) {
  std::string text;
  for (const auto& [status, count] : group.unanswered)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word(status));
  return text.empty() ? "0" : text;
}

void print_summary(const Summary& summary, const RunResults& run) {
  for (const CleanAccuracy& model : summary.models) fmt::print("{}", accuracy_text(model));
  if (!run.results.skipped.empty()) fmt::print("{} points could not be read\n", run.results.skipped.size());
  for (const auto& [name, value] : run.information) {
    if (name == "seconds") fmt::print("time {}\n", duration_text(parse_double(value).value_or(0)));
  }
  const bool labelled =
      std::any_of(summary.groups.begin(), summary.groups.end(), [](const GroupSummary& group) { return group.noisy.count > 0; });
  std::vector<std::string> columns{"<noise", "<estimator", "points", "mean p", "95% interval", "5%",
                                   "25%",    "median",     "75%",    "95%",    "passes",       "<without p"};
  const char* const of_labels[] = {"accuracy under noise", "95% interval"};
  if (labelled) columns.insert(columns.begin() + 3, std::begin(of_labels), std::end(of_labels));
  TextTable table(columns);
  for (const GroupSummary& group : summary.groups) {
    std::vector<std::string> cells{whose(group.key.model) + group.key.noise, group.key.estimator, std::to_string(group.points)};
    if (labelled) {
      cells.push_back(accuracy_text(group.noisy));
      cells.push_back(percents_text(group.noisy.low, group.noisy.high));
    }
    for (std::string& cell : std::vector<std::string>{
             summary_text(group.p.mean), interval_text(group.p.low, group.p.high), summary_text(group.q05),
             summary_text(group.q25), summary_text(group.median), summary_text(group.q75), summary_text(group.q95),
             std::to_string(group.forwards + group.backwards), unanswered_text(group)})
      cells.push_back(std::move(cell));
    table.add(std::move(cells));
  }
  fmt::print("{}", table.text());
}

// The position of a text in a list. If the text is not in the list, it is added.
std::size_t place_in(std::vector<std::string>& texts, const std::string& text) {
  const auto found = std::find(texts.begin(), texts.end(), text);
  if (found != texts.end()) return static_cast<std::size_t>(found - texts.begin());
  texts.push_back(text);
  return texts.size() - 1;
}

report::Chart summary_chart(const Summary& summary) {
  report::Chart chart{.title = "Mean p by noise", .mark = report::Mark::bar};
  chart.y = {.label = "mean p, with 95% intervals", .low = 0, .high = 1};
  std::vector<std::string> names;
  for (const GroupSummary& group : summary.groups) {
    const std::string name = whose(group.key.model) + group.key.estimator;
    const std::size_t series = place_in(names, name);
    if (series == chart.series.size()) chart.series.push_back({name, {}});
    const auto category = static_cast<double>(place_in(chart.x.categories, group.key.noise));
    chart.series[series].points.push_back({category, group.p.mean, group.p.low, group.p.high, group_text(group.key)});
  }
  return chart;
}

// ---- bias

// The most fragile classes, such as "most fragile: 4" or "most fragile: 4, or 9, 3 (the differences may be chance)". There must
// be at least one.
std::string fragile_text(const std::vector<std::int64_t>& fragile, const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 5;
  std::vector<std::string> others;
  for (std::size_t k = 1; k < std::min(fragile.size(), kNamed); ++k) others.push_back(class_text(fragile[k], names));
  if (fragile.size() > kNamed) others.push_back(fmt::format("{} more", fragile.size() - kNamed));
  const std::string lowest = "most fragile: " + class_text(fragile[0], names);
  return others.empty() ? lowest : fmt::format("{}, or {} (the differences may be chance)", lowest, join(others));
}

void print_bias(const GroupBias& bias, const std::vector<std::string>& names) {
  fmt::print("{}: p by {}", group_text(bias.key), bias.by_label ? "label" : "prediction (no labels)");
  if (bias.compared > 1) fmt::print(", intervals adjusted for {} classes ({:.4g}% each)", bias.compared, 100 * bias.confidence);
  fmt::print("\n");
  std::vector<std::string> columns{"<class", "points", "mean p", "interval"};
  if (!bias.clean.empty()) columns.emplace_back("clean accuracy");
  if (!bias.noisy.empty()) columns.insert(columns.end(), {"accuracy under noise", "interval"});
  TextTable table(columns);
  for (std::size_t k = 0; k < bias.classes.size(); ++k) {
    const MeanInterval& p = bias.p[k];
    std::vector<std::string> cells{class_text(bias.classes[k], names), std::to_string(p.count), probability_text(p.mean),
                                   interval_text(p.low, p.high)};
    if (!bias.clean.empty()) cells.push_back(percent_text(bias.clean[k].share));
    if (!bias.noisy.empty()) {
      cells.push_back(accuracy_text(bias.noisy[k]));
      cells.push_back(percents_text(bias.noisy[k].low, bias.noisy[k].high));
    }
    table.add(std::move(cells));
  }
  table.add({"all", std::to_string(bias.all.count), probability_text(bias.all.mean), interval_text(bias.all.low, bias.all.high)});
  fmt::print("{}", table.text());
  if (!bias.largest) {
    fmt::print("largest difference: - (fewer than two classes with two points or more)\n");
    return;
  }
  const ClassGap& gap = *bias.largest;
  fmt::print("largest difference: {:.4f} ({:.4f}..{:.4f}), {} to {}\n", gap.difference, gap.low, gap.high,
             class_text(gap.most, names), class_text(gap.least, names));
  fmt::print("{}\n", fragile_text(bias.fragile, names));
}

report::Chart bias_chart(const std::vector<GroupBias>& biases, const std::vector<std::string>& names) {
  const bool labels = std::all_of(biases.begin(), biases.end(), [](const GroupBias& bias) { return bias.by_label; });
  report::Chart chart{.title = "Mean p by class", .mark = report::Mark::scatter};
  chart.x.label = labels ? "label" : "prediction";
  chart.y = {.label = "mean p, with intervals adjusted for the number of classes"};
  std::vector<std::int64_t> classes;
  for (const GroupBias& bias : biases) classes.insert(classes.end(), bias.classes.begin(), bias.classes.end());
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  for (const std::int64_t c : classes) chart.x.categories.push_back(class_text(c, names));
  for (const GroupBias& bias : biases) {
    report::Series series{group_text(bias.key), {}};
    for (std::size_t k = 0; k < bias.classes.size(); ++k) {
      const auto place = std::lower_bound(classes.begin(), classes.end(), bias.classes[k]) - classes.begin();
      const MeanInterval& p = bias.p[k];
      series.points.push_back({static_cast<double>(place), p.mean, p.low, p.high, class_text(bias.classes[k], names)});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

// ---- rank

void print_points(const std::vector<const Row*>& points, const char* what, const std::vector<std::string>& names) {
  fmt::print("{}\n", what);
  TextTable table({"index", "<label", "<predicted", "p", "p_fail", "95% or s.e.", "<status"});
  for (const Row* row : points) {
    const Estimate& e = row->estimate;
    const std::string error = e.ci_low      ? interval_text(*e.ci_low, *e.ci_high)
                              : e.std_error ? "± " + probability_text(*e.std_error)
                                            : "-";
    table.add({std::to_string(row->index), row->label ? class_text(*row->label, names) : "-", class_text(row->predicted, names),
               probability_text(e.p), failure_text(e), error, std::string(word(e.status))});
  }
  fmt::print("{}", table.text());
}

void print_ranking(const Ranking& ranking, const std::vector<std::string>& names) {
  fmt::print("{}: {} points\n", group_text(ranking.key), ranking.answered);
  print_points(ranking.least, "least robust", names);
  print_points(ranking.most, "most robust", names);
}

// The p of all points in ascending order. If there are more points than the chart can resolve, only some of them are included.
report::Series in_order(const RowGroup& group) {
  constexpr std::size_t kPlaces = 500;
  std::vector<double> p = group.p();
  std::erase_if(p, [](double value) { return !std::isfinite(value); });
  std::sort(p.begin(), p.end());
  report::Series series{group_text(group.key), {}};
  const std::size_t shown = std::min(p.size(), kPlaces);
  for (std::size_t k = 0; k < shown; ++k) {
    const std::size_t i = shown < 2 ? 0 : k * (p.size() - 1) / (shown - 1);
    series.points.push_back({100.0 * static_cast<double>(i + 1) / static_cast<double>(p.size()), p[i]});
  }
  return series;
}

report::Chart rank_chart(const std::vector<RowGroup>& groups) {
  report::Chart chart{.title = "Points from the least to the most robust", .mark = report::Mark::line};
  chart.x = {.label = "share of points, %", .low = 0, .high = 100};
  chart.y = {.label = "p", .low = 0, .high = 1};
  for (const RowGroup& group : groups) chart.series.push_back(in_order(group));
  return chart;
}

int run_summary(const Arguments& arguments) {
  const RunResults run = selected_results(arguments);
  const Summary summary = summarize(run.results);
  if (arguments.json) {
    const auto one = [](const auto& item) { return describe(item); };
    Document information = Document::object();
    for (const auto& [name, value] : run.information) information[name] = value;
    const Document json = Document::Object{{"warnings", run.warnings},
                                           {"models", Document::list(summary.models, one)},
                                           {"groups", Document::list(summary.groups, one)},
                                           {"information", std::move(information)}};
    fmt::print("{}\n", datasets::json_text(json, 2));
  } else {
    print_summary(summary, run);
  }
  write_plot(arguments, summary_chart(summary));
  return 0;
}

int run_bias(const Arguments& arguments) {
  const RunResults run = selected_results(arguments);
  std::vector<GroupBias> biases;
  for (const RowGroup& group : grouped(run.results.rows)) biases.push_back(bias_of(group));
  Document json = Document::Object{{"warnings", run.warnings}, {"groups", Document::List{}}};
  for (const GroupBias& bias : biases) {
    if (arguments.json) {
      json["groups"].push_back(describe(bias, &run.class_names));
    } else {
      fmt::print("{}", &bias == biases.data() ? "" : "\n");
      print_bias(bias, run.class_names);
    }
  }
  if (arguments.json) fmt::print("{}\n", datasets::json_text(json, 2));
  write_plot(arguments, bias_chart(biases, run.class_names));
  return 0;
}

int run_rank(const Arguments& arguments) {
  check_gallery(arguments);
  const RunResults run = selected_results(arguments);
  const std::vector<RowGroup> groups = grouped(run.results.rows);
  std::vector<Ranking> rankings;
  Document json = Document::Object{{"warnings", run.warnings}, {"groups", Document::List{}}};
  for (const RowGroup& group : groups) {
    const Ranking& ranking = rankings.emplace_back(ranking_of(group, arguments.analysis.count));
    if (arguments.json) {
      json["groups"].push_back(describe(ranking));
    } else {
      fmt::print("{}", &group == groups.data() ? "" : "\n");
      print_ranking(ranking, run.class_names);
    }
  }
  if (arguments.json) fmt::print("{}\n", datasets::json_text(json, 2));
  write_plot(arguments, rank_chart(groups));
  write_gallery(arguments, run, rankings);
  return 0;
}

}  // namespace

void describe_summary(CommandLine& line) {
  add_analysis(line, "summary", "clean accuracy, and p by noise and estimator", run_summary);
}

void describe_bias(CommandLine& line) {
  add_analysis(line, "bias", "p by class, with intervals adjusted for the number of classes", run_bias);
}

void describe_rank(CommandLine& line) {
  auto [command, own] = add_analysis(line, "rank", "the least and the most robust points", run_rank);
  command.add_option("--gallery", own.analysis.gallery,
                     "also write their images, each next to its most probable wrong version, to this .html file");
  add_picture_options(command, own);
  command.add_option("--count", own.analysis.count, "number of points to show").at_least(1).show_default();
}

}  // namespace probust::cli
