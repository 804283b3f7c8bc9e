// SPDX-License-Identifier: MIT
// The sections on robustness by class, and on the least and the most robust points.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "probust/analysis/bias.h"
#include "probust/analysis/describe.h"
#include "report/sections.h"
#include "report/words.h"

namespace probust::report {
namespace {

constexpr std::size_t kMostClasses = 40;
constexpr double kTolerated = 0.9;

const MeanInterval* mean_of_class(const GroupBias& bias, std::int64_t number) {
  const auto found = std::lower_bound(bias.classes.begin(), bias.classes.end(), number);
  return found == bias.classes.end() || *found != number ? nullptr : &bias.p[found - bias.classes.begin()];
}

// The classes to show: all of them or, if there are too many, those with the smallest and the largest means.
std::vector<std::int64_t> shown_classes(const GroupBias& bias) {
  std::vector<std::int64_t> classes = bias.classes;
  if (classes.size() <= kMostClasses) return classes;
  std::stable_sort(classes.begin(), classes.end(),
                   [&](std::int64_t a, std::int64_t b) { return mean_of_class(bias, a)->mean < mean_of_class(bias, b)->mean; });
  classes.erase(classes.begin() + kMostClasses / 2, classes.end() - kMostClasses / 2);
  std::sort(classes.begin(), classes.end());
  return classes;
}

Chart chart_of_classes(const std::vector<GroupBias>& noises, const std::vector<std::int64_t>& classes,
                       const std::vector<std::string>& names) {
  Chart chart{.title = "Mean p by class", .mark = Mark::bar};
  chart.y = {.label = "mean p", .low = 0, .high = 1};
  for (const std::int64_t number : classes) chart.x.categories.push_back(probust::class_text(number, names));
  for (const GroupBias& noise : noises) {
    Series series{noise.key.noise, {}};
    for (std::size_t k = 0; k < classes.size(); ++k) {
      const MeanInterval* mean = mean_of_class(noise, classes[k]);
      if (mean == nullptr || !std::isfinite(mean->mean)) continue;
      series.points.push_back({.x = static_cast<double>(k), .y = mean->mean, .low = mean->low, .high = mean->high});
    }
    chart.series.push_back(series);
  }
  return chart;
}

Table table_of_classes(const std::vector<GroupBias>& noises, const std::vector<std::int64_t>& classes, const Material& material,
                       const std::string& caption) {
  Table table{caption, {{"class", false}, {"points"}}, {}};
  const bool clean = !noises.front().clean.empty();
  if (clean) table.columns.push_back({"accuracy without noise"});
  for (const GroupBias& noise : noises) {
    table.columns.push_back({"mean p, " + noise.key.noise});
    table.columns.push_back({fmt::format("{:.3g}% interval", 100 * noise.confidence)});
    if (!noise.noisy.empty()) table.columns.push_back({"accuracy under noise"});
  }
  for (const std::int64_t number : classes) {
    std::vector<std::string> cells{class_text(number, material.run.class_names), "0"};
    const auto place = [&](const GroupBias& noise) {  // the class must occur in the group
      return std::lower_bound(noise.classes.begin(), noise.classes.end(), number) - noise.classes.begin();
    };
    if (clean) {
      const bool known = mean_of_class(noises.front(), number) != nullptr;
      cells.push_back(known ? percent(noises.front().clean[place(noises.front())].share) : "–");
    }
    for (const GroupBias& noise : noises) {
      const MeanInterval mean =
          mean_of_class(noise, number) == nullptr ? MeanInterval{NAN, NAN, NAN} : *mean_of_class(noise, number);
      cells.push_back(probability(mean.mean));
      cells.push_back(interval(mean.low, mean.high));
      if (!noise.noisy.empty())
        cells.push_back(mean_of_class(noise, number) == nullptr ? "–" : percent(noise.noisy[place(noise)].mean));
    }
    if (const MeanInterval* mean = mean_of_class(noises.front(), number)) cells[1] = counted(mean->count);
    table.rows.push_back(cells);
  }
  return table;
}

// A sentence such as "At gaussian:0.1, class 0 has the largest mean p and class 6 the smallest; they differ by 0.21 (...)".
std::string gap_sentence(const GroupBias& bias, const std::vector<std::string>& names) {
  if (!bias.largest) return "At " + bias.key.noise + ", fewer than two classes have two points with p, so none can be compared.";
  const ClassGap& gap = *bias.largest;
  return fmt::format(
      "At {}, class {} has the largest mean p and class {} the smallest; they differ by {:.3f} (95% interval {:.3f} to "
      "{:.3f}), {}.",
      bias.key.noise, class_text(gap.most, names), class_text(gap.least, names), gap.difference, gap.low, gap.high,
      gap.low > 0 ? "more than chance explains" : "which may be chance");
}

std::string bias_of_focus(const Material& material, const Focus& focus) {
  std::vector<GroupBias> noises;
  std::vector<std::string> sentences;
  for (const RowGroup* group : focus.few()) {
    noises.push_back(bias_of(*group));
    sentences.push_back(gap_sentence(noises.back(), material.run.class_names));
  }
  const GroupBias widest = bias_of(focus.at_widest());
  const std::vector<std::int64_t> classes = shown_classes(widest);
  if (classes.empty()) return paragraph("No point has p.");
  std::string html = list(sentences);
  html += figure(chart_of_classes(noises, classes, material.run.class_names),
                 fmt::format("Mean p of the points of each class {}by {}, with intervals that hold for all classes together.",
                             material.of_model(focus.model), focus.estimator));
  if (classes.size() < widest.classes.size())
    html += paragraph(
        fmt::format("Of {} classes, the chart and the table show the {} with the smallest and the {} with the largest mean "
                    "p at {}.",
                    widest.classes.size(), kMostClasses / 2, kMostClasses / 2, widest.key.noise));
  return html + table(table_of_classes(noises, classes, material,
                                       fmt::format("Mean p by {} class {}by {}", widest.by_label ? "true" : "predicted",
                                                   material.of_model(focus.model), focus.estimator)));
}

// For each point, the sigma at which its p falls to kTolerated. Empty if `sweep` is null.
std::map<std::int64_t, std::string> tolerated_by_point(const RowSweep* sweep) {
  std::map<std::int64_t, std::string> scales;
  if (sweep == nullptr) return scales;
  for (const PointTolerance& point : tolerances_of(*sweep, kTolerated).points)
    scales.emplace(point.row->index, tolerated(point.scale));
  return scales;
}

Table table_of_points(const std::string& caption, const std::vector<const Row*>& points, const Material& material,
                      const Focus& focus) {
  const std::vector<std::string>& names = material.run.class_names;
  Table table{caption, {{"point"}, {"label", false}, {"predicted", false}, {"p"}, {"95% interval"}}, {}};
  std::vector<const RowGroup*> others = focus.few();
  std::erase(others, &focus.at_widest());
  const std::map<std::int64_t, std::string> scales = tolerated_by_point(material.sweep_of(focus));
  for (const RowGroup* other : others) table.columns.push_back({"p at " + other->key.noise});
  if (!scales.empty()) table.columns.push_back({fmt::format("sigma at p = {}", kTolerated)});
  for (const Row* row : points) {
    std::vector<std::string> cells{std::to_string(row->index), row->label ? class_text(*row->label, names) : "–",
                                   class_text(row->predicted, names), probability(row->estimate.p), interval(row->estimate)};
    for (const RowGroup* other : others) {
      const auto same =
          std::find_if(other->rows.begin(), other->rows.end(), [&](const Row* each) { return each->index == row->index; });
      cells.push_back(same == other->rows.end() ? "–" : probability((*same)->estimate.p));
    }
    if (!scales.empty()) cells.push_back(scales.contains(row->index) ? scales.at(row->index) : "–");
    table.rows.push_back(cells);
  }
  return table;
}

std::string points_of_focus(const Material& material, const Focus& focus, const Ranking& ranking) {
  const std::string where = focus.at_widest().key.noise + " by " + focus.estimator;
  std::string html = paragraph(fmt::format("{}Points are ordered by p at {}{}; {} of {} have p.",
                                           material.several_models() ? focus.model + ": " : "", where,
                                           focus.noises.size() > 1 ? ", the noise at which p differs most between points" : "",
                                           counted(ranking.answered), counted(std::ssize(focus.at_widest().rows))));
  html += table(table_of_points("Least robust points at " + where, ranking.least, material, focus));
  return html + table(table_of_points("Most robust points at " + where, ranking.most, material, focus));
}

}  // namespace

std::string bias_section(const Material& material) {
  std::string html = paragraph(
      "Noise may harm some classes more than others. Intervals are wider than those of one class alone would be: "
      "with 95% confidence, all intervals of a column contain their means at once (Bonferroni's correction).");
  for (const Focus& focus : material.focuses) html += bias_of_focus(material, focus);
  return html;
}

std::string pictures_section(const Material& material, const Pictures& pictures) {
  std::string html;
  const std::vector<Ranking> rankings = rankings_of(material.focuses);
  for (std::size_t k = 0; k < rankings.size(); ++k) {
    const std::string shown = gallery(rankings[k], pictures, material.run.class_names);
    if (shown.empty()) continue;
    html += paragraph("Points ordered by p " + material.of_model(material.focuses[k].model) + "at " + rankings[k].key.noise +
                      " by " + rankings[k].key.estimator + ". " + explanation(pictures)) +
            shown;
  }
  return html;
}

std::string points_section(const Material& material, const Pictures& pictures) {
  std::string html;
  const std::vector<Ranking> rankings = rankings_of(material.focuses);
  for (std::size_t k = 0; k < rankings.size(); ++k) html += points_of_focus(material, material.focuses[k], rankings[k]);
  if (!pictures.missing.empty()) html += paragraph(pictures.missing);
  return html +
         paragraph(
             "Points are numbered from 0, by their position in the data. Among many points, some are at an end of the order by "
             "chance: compare their intervals.");
}

}  // namespace probust::report
