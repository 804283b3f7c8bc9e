// SPDX-License-Identifier: MIT
// The section that compares two runs on the same points.
#include <fmt/format.h>

#include <cmath>

#include "probust/analysis/comparison.h"
#include "report/sections.h"
#include "report/words.h"

namespace probust::report {
namespace {

// The comparison of one model of the other run with one model of this run.
struct ComparedModels {
  std::string baseline, run;  // names of the two models
  std::vector<PairedComparison> groups;
};

std::string title_of_model(const Run& run, const std::string& model) {
  return model.empty() ? run.file : model + " of " + run.file;
}

std::vector<ComparedModels> compared_models(const Run& run, const Run& other) {
  std::vector<ComparedModels> compared;
  const std::vector<std::string> known = models_of(run.results);
  for (const std::string& model : models_of(other.results)) {
    const auto partner = baseline_model(known, model);
    if (!partner) continue;
    compared.push_back({title_of_model(run, *partner), title_of_model(other, model),
                        compare_rows(rows_of_model(run.results, *partner), rows_of_model(other.results, model))});
  }
  return compared;
}

std::string shares(const MeanInterval& mean) { return mean.count == 0 ? "–" : percent(mean.mean); }

std::string points_between(const MeanInterval& difference) {
  if (difference.count == 0 || !std::isfinite(difference.low) || !std::isfinite(difference.high)) return "–";
  return fmt::format("{:+.1f} ({:+.1f} to {:+.1f})", 100 * difference.mean, 100 * difference.low, 100 * difference.high);
}

Table table_of_accuracies(const ComparedModels& compared) {
  Table table{"Points with labels: A is " + compared.baseline + ", B is " + compared.run,
              {{"noise", false},
               {"estimator", false},
               {"points"},
               {"accuracy without noise, A"},
               {"B"},
               {"accuracy under noise, A"},
               {"B"},
               {"B - A in percentage points"}}};
  for (const PairedComparison& group : compared.groups) {
    if (group.noisy_difference.count == 0) continue;
    table.rows.push_back({group.run.noise, group.run.estimator, counted(group.noisy_difference.count),
                          percent(group.baseline_clean.share), percent(group.run_clean.share), shares(group.baseline_noisy),
                          shares(group.run_noisy), points_between(group.noisy_difference)});
  }
  return table;
}

Table table_of_p(const ComparedModels& compared) {
  Table table{"p of each model's own prediction, right or wrong",
              {{"noise", false}, {"estimator", false}, {"points"}, {"mean p, A"}, {"B"}, {"B - A"}, {"95% interval"}}};
  for (const PairedComparison& group : compared.groups) {
    if (group.pairs == 0) continue;
    table.rows.push_back({group.run.noise, group.run.estimator, counted(group.pairs), probability(group.baseline_p.mean),
                          probability(group.run_p.mean), fmt::format("{:+.4f}", group.difference.mean),
                          interval(group.difference.low, group.difference.high)});
  }
  return table;
}

}  // namespace

std::string verdict(const Run& run, const Run& other) {
  std::string html;
  for (const ComparedModels& compared : compared_models(run, other)) {
    const PairedComparison* lead = leading(compared.groups);
    if (lead != nullptr)
      html += paragraph("At " + lead->run.noise + ", " + in_one_sentence(*lead, compared.baseline, compared.run));
  }
  return html.empty() ? paragraph("The runs have no point, noise and estimator in common.") : html;
}

std::string comparison_section(const Run& run, const Run& other) {
  std::string html;
  for (const ComparedModels& compared : compared_models(run, other))
    html += table(table_of_accuracies(compared)) + table(table_of_p(compared));
  return html + paragraph(
                    "Differences are paired by point, and so are their 95% intervals. Accuracy under noise is how often the "
                    "model predicts the label of a point at its noisy samples; a model that always makes the same wrong "
                    "prediction has p = 1.");
}

}  // namespace probust::report
