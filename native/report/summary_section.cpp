// SPDX-License-Identifier: MIT
// The first and the last section: a summary of the run, and how it was computed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "probust/base/text.h"
#include "report/sections.h"
#include "report/words.h"

namespace probust::report {
namespace {

constexpr std::size_t kMostCards = 10;

// A large number with a name above it and an explanation below.
std::string card(const std::string& name, const std::string& value, const std::string& explanation) {
  return fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>\n", html_text(name), html_text(value),
                     html_text(explanation));
}

std::vector<std::string> accuracy_cards(const Material& material) {
  std::vector<std::string> cards;
  for (const CleanAccuracy& model : material.summary.models) {
    const Proportion& accuracy = model.accuracy;
    if (accuracy.of == 0) continue;
    cards.push_back(card(material.several_models() ? "accuracy without noise, " + model.model : "accuracy without noise",
                         percent(accuracy.share),
                         fmt::format("{} of {}; {} to {}", counted(accuracy.count), counted(accuracy.of), percent(accuracy.low),
                                     percent(accuracy.high))));
  }
  return cards;
}

// An interval such as "71.2% to 75.3%".
std::string between(const MeanInterval& share) {
  return std::isfinite(share.low) && std::isfinite(share.high) ? percent(share.low) + " to " + percent(share.high)
                                                               : "no interval";
}

std::vector<std::string> mean_cards(const Material& material) {
  std::vector<std::string> cards;
  for (const Focus& focus : material.focuses) {
    for (const RowGroup* group : focus.few()) {
      if (const MeanInterval noisy = noisy_accuracy(*group); noisy.count > 0)
        cards.push_back(card("accuracy under noise " + material.of_model(focus.model) + "at " + group->key.noise,
                             percent(noisy.mean), between(noisy) + "; by " + focus.estimator));
      const MeanInterval mean = group->mean_p();
      cards.push_back(card(
          "mean p " + material.of_model(focus.model) + "at " + group->key.noise,
          std::isfinite(mean.mean) ? fmt::format("{:.3f}", mean.mean) : "–",
          fmt::format("{}; by {}",
                      std::isfinite(mean.low) && std::isfinite(mean.high) ? fmt::format("{:.3f} to {:.3f}", mean.low, mean.high)
                                                                          : "no interval",
                      focus.estimator)));
    }
  }
  return cards;
}

std::int64_t passes_of(const Summary& summary) {
  return std::accumulate(summary.groups.begin(), summary.groups.end(), std::int64_t{0},
                         [](std::int64_t sum, const GroupSummary& group) { return sum + group.forwards + group.backwards; });
}

std::string time_card(const Material& material) {
  const auto seconds = parse_double(entry_of(material.run.information, "seconds"));
  const std::string passes = counted(passes_of(material.summary)) + " passes through the network";
  return seconds ? card("time", duration(*seconds), passes)
                 : card("work", counted(passes_of(material.summary)), "passes through the network");
}

std::string cards(const Material& material) {
  std::vector<std::string> all = accuracy_cards(material);
  const std::vector<std::string> means = mean_cards(material);
  all.insert(all.end(), means.begin(), means.end());
  if (all.size() > kMostCards) all.resize(kMostCards);
  const std::int64_t points = material.summary.models.empty() ? 0 : material.summary.models.front().points;
  all.push_back(card("points", counted(points), counted(std::ssize(material.run.results.rows), "estimate")));
  all.push_back(time_card(material));
  return "<dl class=\"cards\">\n" + fmt::format("{}", fmt::join(all, "")) + "</dl>\n";
}

Table table_of_groups(const Material& material) {
  Table table{"p over the points, for each noise and estimator", material.key_columns(), {}};
  const bool labels = std::any_of(material.summary.groups.begin(), material.summary.groups.end(),
                                  [](const GroupSummary& group) { return group.noisy.count > 0; });
  table.columns.push_back({"points"});
  if (labels) table.columns.insert(table.columns.end(), {{"accuracy under noise"}, {"95% interval"}});
  for (const char* title : {"mean p", "95% interval", "5% below", "median", "95% below", "passes"})
    table.columns.push_back({title});
  for (const GroupSummary& group : material.summary.groups) {
    std::vector<std::string> cells = material.key_cells(group.key);
    const double passes = static_cast<double>(group.forwards + group.backwards) / static_cast<double>(group.points);
    cells.push_back(counted(group.p.count));
    if (labels) {
      cells.push_back(group.noisy.count == 0 ? "–" : percent(group.noisy.mean));
      cells.push_back(group.noisy.count == 0 ? "–" : between(group.noisy));
    }
    for (const std::string& cell : {probability(group.p.mean), interval(group.p.low, group.p.high), probability(group.q05),
                                    probability(group.median), probability(group.q95), rounded(passes)})
      cells.push_back(cell);
    table.rows.push_back(cells);
  }
  return table;
}

bool labelled(const Material& material) {
  for (const CleanAccuracy& model : material.summary.models) {
    if (model.accuracy.of > 0) return true;
  }
  return false;
}

Table table_of_skipped(const Material& material) {
  Table table{
      .caption = "Points that could not be read, and were left out", .columns = {{"point"}, {"reason", false}}, .wraps = true};
  for (const SkippedPoint& point : material.run.results.skipped) {
    if (!material.several_models() || point.model == material.run.results.skipped.front().model)
      table.rows.push_back({std::to_string(point.index), point.reason});
  }
  return table;
}

// A table of the entries that are not empty, except the command.
Table table_of_entries(const std::string& caption, const Entries& entries) {
  Table table{.caption = caption, .columns = {{"name", false}, {"value", false}}, .wraps = true};
  for (const auto& [name, value] : entries) {
    if (value.empty() || name == "command") continue;
    table.rows.push_back({name, join(split(value, '\n'))});  // one class name per line
  }
  return table;
}

}  // namespace

std::string summary_section(const Material& material) {
  std::string html = cards(material);
  if (!labelled(material)) html += paragraph("The data have no labels, so there is no accuracy.");
  html += table(table_of_groups(material));
  html += paragraph(
      "Accuracy under noise is how often the model predicts the label of a point at its noisy samples. p is how often it "
      "predicts the same class as without noise, right or wrong. Each mean is over the points of the run. Its 95% interval "
      "covers the mean over many more points of the "
      "same kind; it gets narrower with more points. 5% of the points have a p below the number under 5% below, and half of "
      "them below the median. Passes are evaluations of the network or of its gradient for a point: the cost of an estimator.");
  if (!material.run.results.skipped.empty()) html += table(table_of_skipped(material));
  return html;
}

std::string origin_section(const Material& material) {
  const Run& run = material.run;
  const std::string command = entry_of(run.information, "command");
  std::string html;
  if (!command.empty()) html += fmt::format("{}<pre>{}</pre>\n", paragraph("This command created the run:"), html_text(command));
  html += paragraph(
      "The same configuration gives the same rows on any number of threads. Files are identified by their checksums, which "
      "reveal changes.");
  html += table(table_of_entries("The run: " + run.file, run.information));
  html += table(table_of_entries("Its configuration, which determines the rows", run.configuration));
  return html;
}

}  // namespace probust::report
