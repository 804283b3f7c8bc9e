// SPDX-License-Identifier: MIT
// The most and the least robust images of each class, by p and by the softmax probability.
#include "report/gallery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/answers.h"
#include "experiments/experiments.h"
#include "experiments/main_run.h"
#include "probust/analysis/ranking.h"
#include "report/words.h"

namespace probust::cli::reproduce {
namespace {

constexpr std::int64_t kShown = 3;  // images at each end of a class

// The standard deviation of an image's values, as a measure of how clearly the object stands out.
double contrast(std::span<const float> image) {
  double sum = 0, squares = 0;
  for (const float value : image) {
    sum += value;
    squares += double{value} * value;
  }
  const double n = static_cast<double>(image.size());
  return std::sqrt(std::max(0.0, squares / n - sum / n * sum / n));
}

report::PictureGrid grid_of(const Study& study, const Tensor& x, const std::map<std::int64_t, RowGroup>& classes,
                            const std::string& title) {
  const report::Brightness brightness = report::brightness_of(x);
  report::PictureGrid grid{.title = title};
  for (std::int64_t k = 0; k < kShown; ++k) grid.columns.push_back(k == 0 ? "least robust" : "");
  for (std::int64_t k = 0; k < kShown; ++k) grid.columns.push_back(k == 0 ? "most robust" : "");
  for (const auto& [label, group] : classes) {
    report::GridRow row{report::class_text(label, study.subject().class_names), {}};
    const Ranking ranking = ranking_of(group, kShown);
    for (const std::vector<const Row*>* end : {&ranking.least, &ranking.most}) {
      for (const Row* each : *end)
        row.cells.push_back({report::picture_of(rows(x, each->index, 1), brightness), report::rounded(each->estimate.p)});
      row.cells.resize(end == &ranking.least ? kShown : 2 * kShown);
    }
    grid.rows.push_back(row);
  }
  return grid;
}

// The mean over the classes of Spearman's correlation between p and contrast within a class.
double correlation_with_contrast(const Tensor& x, const std::map<std::int64_t, RowGroup>& classes) {
  std::vector<double> correlations;
  for (const auto& [label, group] : classes) {
    std::vector<double> p = group.p(), contrasts;
    for (const Row* row : group.rows) contrasts.push_back(contrast(x.row(row->index)));
    const double found = spearman(p, contrasts);
    if (std::isfinite(found)) correlations.push_back(found);
  }
  return mean_interval(correlations).mean;
}

}  // namespace

Findings gallery(Study& study) {
  Findings findings;
  if (!report::is_image(study.subject().point)) {
    findings.method.push_back("These points are not images.");
    return findings;
  }
  const WideRun run = wide_run(study);
  const Answers answers(study.rows(run.question));
  const Tensor x = study.all_test().x;
  const double sigma = study.middle_sigma();
  const std::map<std::int64_t, RowGroup> robust = by_class(answers.group(run.mmse, sigma)),
                                         softmax = by_class(answers.group("softmax", sigma));
  const double of_p = correlation_with_contrast(x, robust), of_softmax = correlation_with_contrast(x, softmax);
  findings.method.push_back(fmt::format(
      "Images of each class with the smallest and the largest p ({}, sigma {}), and with the smallest and the largest "
      "softmax probability. The number below an image is this probability. The contrast of an image is the standard "
      "deviation of its values.",
      run.mmse, sigma));
  findings.claims = {
      {"Images with a small p have an object whose colour is similar to that of the background; those with a large p have a "
       "strong contrast.",
       "section 4.3, figure 3",
       fmt::format("Within a class, Spearman's correlation of p and contrast is {} on average; confirmed if it is above 0.2.",
                   report::rounded(of_p)),
       verdict_of(of_p > 0.2)},
      {"For the softmax probability, such a difference is less evident.", "preprint, figure 12",
       fmt::format("Its correlation with the contrast is {}, that of p {}; confirmed if it is smaller by 0.1.",
                   report::rounded(of_softmax), report::rounded(of_p)),
       verdict_of(std::fabs(of_softmax) + 0.1 < std::fabs(of_p))}};
  findings.figures = {{"p", "The least and the most robust images by p.",
                       grid_of(study, x, robust, fmt::format("p by {} at sigma {}", run.mmse, sigma))},
                      {"softmax", "The same by the softmax probability.", grid_of(study, x, softmax, "Softmax probability")}};
  Sheet sheet{"points", "p, softmax probability and contrast of every point.",
              columns({"index", "class", "p", "softmax", "contrast"}, {})};
  sheet.in_report = false;
  const RowGroup &by_p = answers.group(run.mmse, sigma), &by_softmax = answers.group("softmax", sigma);
  for (std::size_t i = 0; i < by_p.rows.size(); ++i) {
    const Row& row = *by_p.rows[i];
    sheet.rows.push_back({std::to_string(row.index), std::to_string(row.label.value_or(row.predicted)),
                          fmt::format("{:.6g}", row.estimate.p), fmt::format("{:.6g}", by_softmax.rows[i]->estimate.p),
                          fmt::format("{:.6g}", contrast(x.row(row.index)))});
  }
  findings.sheets = {sheet};
  return findings;
}

}  // namespace probust::cli::reproduce
