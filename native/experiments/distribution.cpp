// SPDX-License-Identifier: MIT
// The distribution of p over the points, by sigma.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/answers.h"
#include "experiments/experiments.h"
#include "experiments/main_run.h"
#include "probust/analysis/summary.h"
#include "report/words.h"

namespace probust::cli::reproduce {
namespace {

// The area between the empirical distribution functions of two samples of the same size (the Wasserstein distance of order 1).
double area_between(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::fabs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

}  // namespace

Findings distribution(Study& study) {
  const MainRun run = main_run(study);
  const Answers answers(study.rows(run.of_network));
  report::Chart chart;
  chart.title = "p over sigma";
  chart.mark = report::Mark::violin;
  chart.x = {.label = "sigma"};
  chart.y = {.label = "p", .low = 0, .high = 1};
  Sheet sheet{"distribution", "Quantiles of p over the points.",
              columns({"sigma", "estimator", "5%", "25%", "median", "75%", "95%", "mean"}, {1})};
  std::vector<double> means;
  double farthest = 0;
  std::vector<std::string> differences;
  for (const std::string& estimator : {run.reference, run.mmse}) {
    report::Series series{estimator, {}};
    for (std::size_t k = 0; k < study.sigmas().size(); ++k) {
      const std::vector<double>& p = answers.p(estimator, study.sigmas()[k]);
      for (const double each : p) series.points.push_back({static_cast<double>(k), each});
      std::vector<std::string> row = {fmt::format("{}", study.sigmas()[k]), estimator};
      for (const double q : {0.05, 0.25, 0.5, 0.75, 0.95}) row.push_back(report::rounded(quantile_of(p, q)));
      row.push_back(report::rounded(mean_interval(p).mean));
      sheet.rows.push_back(row);
      if (estimator == run.reference) means.push_back(mean_interval(p).mean);
    }
    chart.series.push_back(series);
  }
  for (const double sigma : study.sigmas()) {
    chart.x.categories.push_back(fmt::format("{}", sigma));
    const double area = area_between(answers.p(run.reference, sigma), answers.p(run.mmse, sigma));
    farthest = std::max(farthest, area);
    differences.push_back(report::rounded(area));
  }
  Findings findings;
  findings.method.push_back(fmt::format(
      "p of every point by {} and {}. The distance of two distributions is the area between their distribution functions "
      "(Wasserstein's): by how much p differs between points of the same rank, on average.",
      run.reference, run.mmse));
  findings.claims = {
      {"The more noise, the smaller p.", "preprint, figure 7",
       fmt::format("Mean p at sigma {}: {}.", fmt::join(study.sigmas(), ", "), fmt::join(texts(means), ", ")),
       verdict_of(std::is_sorted(means.rbegin(), means.rend()))},
      {"mmse gives the same distributions of p as Monte Carlo.", "preprint, figure 7",
       fmt::format("The distances of the two distributions are {} at these sigmas; confirmed if none is above 0.02.",
                   fmt::join(differences, ", ")),
       verdict_of(farthest <= 0.02)}};
  findings.figures = {
      {"distribution",
       "The width of a shape shows how many points have this p. Lines are medians, dots are means with their 95% intervals.",
       chart}};
  findings.sheets = {sheet};
  return findings;
}

}  // namespace probust::cli::reproduce
