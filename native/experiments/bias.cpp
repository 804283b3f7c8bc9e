// SPDX-License-Identifier: MIT
// Tests whether the network is more robust for some classes than for others.
#include "probust/analysis/bias.h"

#include <fmt/format.h>

#include "experiments/answers.h"
#include "experiments/experiments.h"
#include "experiments/main_run.h"
#include "report/words.h"

namespace probust::cli::reproduce {

Findings bias(Study& study) {
  const WideRun run = wide_run(study);
  const Answers answers(study.rows(run.question));
  const double sigma = study.middle_sigma();
  report::Chart chart;
  chart.title = fmt::format("p by class at sigma {}", sigma);
  chart.mark = report::Mark::violin;
  chart.y = {.label = "p", .low = 0, .high = 1};
  std::vector<GroupBias> biases;
  for (const std::string& estimator : {run.mc, run.mmse}) {
    const RowGroup& group = answers.group(estimator, sigma);
    const GroupBias found = bias_of(group);
    report::Series series{estimator, {}};
    const std::map<std::int64_t, RowGroup> classes = by_class(group);
    for (std::size_t k = 0; k < found.classes.size(); ++k) {
      for (const double p : classes.at(found.classes[k]).p()) series.points.push_back({static_cast<double>(k), p});
    }
    chart.series.push_back(series);
    biases.push_back(found);
  }
  Sheet sheet{"bias", fmt::format("Mean p by class at sigma {}, with intervals that hold for all classes at once.", sigma),
              columns({"class", "points", run.mc, "low", "high", run.mmse, "low", "high"})};
  for (std::size_t k = 0; k < biases[0].classes.size(); ++k) {
    chart.x.categories.push_back(report::class_text(biases[0].classes[k], study.subject().class_names));
    std::vector<std::string> row = {chart.x.categories.back(), fmt::format("{}", biases[0].p[k].count)};
    for (const GroupBias& found : biases) {
      for (const double value : {found.p[k].mean, found.p[k].low, found.p[k].high}) row.push_back(report::rounded(value));
    }
    sheet.rows.push_back(row);
  }
  std::vector<double> mc, mmse;
  for (std::size_t k = 0; k < biases[0].p.size(); ++k) {
    mc.push_back(biases[0].p[k].mean);
    mmse.push_back(biases[1].p[k].mean);
  }
  const std::optional<ClassGap>& gap = biases[0].largest;
  const Agreement agree = agreement(mc, mmse);
  Findings findings;
  findings.method.push_back(
      fmt::format("p of all {} test points by {} and {} at sigma {}, by true class. The interval of the largest difference is "
                  "adjusted for all pairs of classes.",
                  report::counted(study.subject().test_points), run.mc, run.mmse, sigma));
  findings.claims = {
      {"The network is significantly more robust for some classes than for others.", "section 4.3, figure 4",
       gap ? fmt::format("Mean p differs by {} between class {} and class {} (95% interval {} to {}).",
                         report::rounded(gap->difference), report::class_text(gap->most, study.subject().class_names),
                         report::class_text(gap->least, study.subject().class_names), report::rounded(gap->low),
                         report::rounded(gap->high))
           : "There are too few points to compare classes.",
       gap ? verdict_of(gap->low > 0) : Verdict::not_tested},
      {"mmse shows the same differences between classes as Monte Carlo.", "section 4.3, figure 4",
       fmt::format("The classes' means by the two estimators have a correlation of {} and differ by {} on average.",
                   report::rounded(agree.pearson), report::rounded(agree.mae)),
       verdict_of(agree.pearson > 0.9 && agree.mae < 0.1)}};
  findings.figures = {
      {"bias", "p of the points of each class by two estimators. Lines are medians, dots are means with their 95% intervals.",
       chart}};
  findings.sheets = {sheet};
  return findings;
}

}  // namespace probust::cli::reproduce
