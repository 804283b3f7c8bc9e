// SPDX-License-Identifier: MIT
// The multivariate sigmoid instead of the multivariate normal CDF, and softmax as its special case.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/run/load.h"
#include "experiments/answers.h"
#include "experiments/experiments.h"
#include "experiments/main_run.h"
#include "probust/base/text.h"
#include "report/words.h"

namespace probust::cli::reproduce {
namespace {

// ||grad_x (f_i - f_j)|| for each pair of classes of a linear classifier, which does not depend on x.
std::vector<double> boundary_norms(const Study& study, const std::string& path, const Tensor& x) {
  Arguments arguments = study.arguments();
  arguments.model = path;
  LoadOptions options = load_options(arguments, point_shape(x));
  options.decide = false;
  LoadedModel model = load_model(arguments, options);
  const std::int64_t classes = model.classes(), d = element_count(model.point_shape());
  std::vector<double> norms;
  const auto take = [&](std::int64_t, std::span<const float> jacobian) {
    for (std::int64_t i = 0; i < classes; ++i) {
      for (std::int64_t j = i + 1; j < classes; ++j) {
        double square = 0;
        for (std::int64_t e = 0; e < d; ++e) square += std::pow(double{jacobian[i * d + e]} - jacobian[j * d + e], 2);
        norms.push_back(std::sqrt(square));
      }
    }
  };
  (void)model.executor().jacobian(rows(x, 0, 1), take).value();
  return norms;
}

Sheet agreement_sheet() {
  return {"mv-sigmoid", "mv-sigmoid against the normal CDF at the same margins.",
          columns({"estimator", "sigma", "Pearson", "Spearman", "mean difference", "largest difference"})};
}

}  // namespace

Findings mvs(Study& study) {
  const MainRun run = main_run(study);
  const Answers answers(study.rows(run.of_network));
  Sheet sheet = agreement_sheet();
  Findings findings;
  double least_correlation = 1, largest_error = 0;
  for (const auto& [exact, sigmoid] : {std::pair<std::string, std::string>{"taylor", "taylor_mvs"}, {run.mmse, run.mmse_mvs}}) {
    for (const double sigma : study.sigmas()) {
      const Agreement found = agreement(answers.p(sigmoid, sigma), answers.p(exact, sigma));
      sheet.rows.push_back({sigmoid, fmt::format("{}", sigma), report::rounded(found.pearson), report::rounded(found.spearman),
                            report::rounded(found.mae), report::rounded(found.largest)});
      least_correlation = std::min(least_correlation, found.pearson);
      largest_error = std::max(largest_error, found.mae);
    }
  }
  report::Chart chart;
  chart.title = fmt::format("mv-sigmoid(z) against the normal CDF at sigma {}", study.middle_sigma());
  chart.mark = report::Mark::scatter;
  chart.diagonal = true;
  chart.x = {.label = "normal CDF", .low = 0, .high = 1};
  chart.y = {.label = "mv-sigmoid", .low = 0, .high = 1};
  for (const auto& [exact, sigmoid] : {std::pair<std::string, std::string>{"taylor", "taylor_mvs"}, {run.mmse, run.mmse_mvs}})
    chart.series.push_back(line(sigmoid, answers.p(exact, study.middle_sigma()), answers.p(sigmoid, study.middle_sigma())));

  // Lemma 3 of the preprint: for a linear model whose boundaries have gradients of the same norm k, softmax at T = sigma k
  // equals taylor_mvs. The norms of a trained model differ, so k is their mean.
  const TrainedModel linear = study.linear();
  const std::vector<double> norms = boundary_norms(study, linear.path, study.test().x);
  const double k = mean_interval(norms).mean;
  const auto [least, most] = std::minmax_element(norms.begin(), norms.end());
  Question question{.name = "softmax", .model = linear.path, .estimators = {"taylor_mvs", "softmax"}, .sigma = study.sigmas()};
  std::vector<std::string> tempered;
  for (const double sigma : study.sigmas()) tempered.push_back("softmax:" + shortest_text(std::round(1e4 * sigma * k) / 1e4));
  for (const std::string& each : tempered) question.estimators.push_back(each);
  const Answers straight(study.rows(question));
  Sheet softmax{"softmax", "Mean difference between softmax and taylor_mvs, linear classifier.",
                columns({"sigma", "T = sigma k", "at T", "at T = 1"}, {})};
  int closer = 0;
  double worst = 0;
  for (std::size_t s = 0; s < study.sigmas().size(); ++s) {
    const double sigma = study.sigmas()[s];
    const double at_t = error_of(straight.p(tempered[s], sigma), straight.p("taylor_mvs", sigma)).absolute,
                 at_1 = error_of(straight.p("softmax", sigma), straight.p("taylor_mvs", sigma)).absolute;
    softmax.rows.push_back({fmt::format("{}", sigma), tempered[s].substr(8), report::rounded(at_t), report::rounded(at_1)});
    closer += at_t < at_1 ? 1 : 0;
    worst = std::max(worst, at_t);
  }
  findings.method.push_back(
      "mv-sigmoid(z) is 1 / (1 + sum of exp(-z_i)); the normal CDF has the correlations of the margins. Both use the same z.");
  findings.claims = {
      {"The two functions are strongly correlated, and the error is small.", "section 4.1; preprint, figure 10",
       fmt::format("Over both linearisations and all sigmas, the smallest correlation is {} and the largest mean difference {}; "
                   "confirmed if these are at least 0.9 and at most 0.05.",
                   report::rounded(least_correlation), report::rounded(largest_error)),
       verdict_of(least_correlation >= 0.9 && largest_error <= 0.05)},
      {"For a linear model whose boundary gradients all have the norm k, softmax at temperature T = sigma k equals taylor_mvs.",
       "section 3.2.3; preprint, lemma A.4",
       fmt::format("The trained linear classifier has norms from {} to {}, mean k = {}. At T = sigma k the mean difference is at "
                   "most {}; for {} of {} sigmas it is smaller than at T = 1. Confirmed if it is at most 0.05: the norms differ.",
                   report::rounded(*least), report::rounded(*most), report::rounded(k), report::rounded(worst), closer,
                   study.sigmas().size()),
       verdict_of(worst <= 0.05)}};
  findings.figures = {{"mv-sigmoid", "Each mark is a point. On the dashed line the two functions are equal.", chart}};
  findings.sheets = {sheet, softmax};
  return findings;
}

}  // namespace probust::cli::reproduce
