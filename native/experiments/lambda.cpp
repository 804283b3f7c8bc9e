// SPDX-License-Identifier: MIT
// Networks trained with the penalty lambda ||grad_x loss||² added to the loss: their robustness, the errors of the estimators,
// and whether the softmax probability predicts p.
#include <fmt/format.h>

#include <algorithm>

#include "experiments/answers.h"
#include "experiments/experiments.h"
#include "experiments/main_run.h"
#include "report/words.h"

namespace probust::cli::reproduce {
namespace {

struct Trained {
  double lambda;
  TrainedModel network;
  std::vector<double> mean_p, taylor, mmse;  // by sigma: mean p, and mean errors of taylor and mmse
  std::vector<double> p;                     // p of every point, at the middle sigma
  double pearson = 0, spearman = 0;          // correlations of p with the softmax probability, at the middle sigma
};

// The network without regularisation is part of the main run; the others use a fifth of the samples.
Trained measured(Study& study, double lambda) {
  Trained trained{lambda, study.network(lambda), {}, {}, {}, {}};
  const MainRun run = main_run(study);
  Question question = run.of_network;
  std::string reference = run.reference;
  if (lambda > 0) {
    reference = fmt::format("mc:{}", study.sizes().reference / 5);
    question.name = fmt::format("network-lambda-{}", lambda);
    question.model = trained.network.path;
    question.estimators = {reference, "taylor", kFewSamples, "softmax"};
  }
  const Answers answers(study.rows(question));
  for (const double sigma : study.sigmas()) {
    const std::vector<double>& p = answers.p(reference, sigma);
    trained.mean_p.push_back(mean_interval(p).mean);
    trained.taylor.push_back(error_of(answers.p("taylor", sigma), p).absolute);
    trained.mmse.push_back(error_of(answers.p(kFewSamples, sigma), p).absolute);
  }
  trained.p = answers.p(reference, study.middle_sigma());
  const Agreement softmax = agreement(answers.p(reference, study.middle_sigma()), answers.p("softmax", study.middle_sigma()));
  trained.pearson = softmax.pearson;
  trained.spearman = softmax.spearman;
  return trained;
}

Figure figure_of(const Study& study, const std::vector<Trained>& all, const char* name, const char* title, const char* y,
                 std::vector<double> Trained::*values) {
  report::Chart chart;
  chart.title = title;
  chart.x = {.label = "sigma", .every_value = true};
  chart.y = {.label = y, .low = 0};
  for (const Trained& each : all)
    chart.series.push_back(line(fmt::format("lambda {}", each.lambda), study.sigmas(), each.*values));
  return {name, fmt::format("{}, for networks trained with different lambda.", title), chart};
}

double mean_of(const std::vector<double>& values) { return mean_interval(values).mean; }

// For each lambda, the mean of `values` over the scales.
std::vector<double> over_scales(const std::vector<Trained>& all, std::vector<double> Trained::*values) {
  std::vector<double> column(all.size());
  std::transform(all.begin(), all.end(), column.begin(), [&](const Trained& each) { return mean_of(each.*values); });
  return column;
}

// The mean over the points of the increase in p from the network without regularisation to the most regularised one.
MeanInterval gain(const std::vector<Trained>& all) {
  std::vector<double> differences = all.back().p;
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= all.front().p[i];
  return mean_interval(differences);
}

}  // namespace

Findings lambda(Study& study) {
  std::vector<Trained> all;
  for (const double lambda : {0.0, 0.01, 0.1, 1.0}) all.push_back(measured(study, lambda));
  const std::size_t middle = study.sigmas().size() / 2;
  const std::vector<double> taylor = over_scales(all, &Trained::taylor), mmse = over_scales(all, &Trained::mmse);
  const MeanInterval more = gain(all);
  std::vector<double> p, accuracy, correlation;
  for (const Trained& each : all) {
    p.push_back(mean_of(each.p));
    accuracy.push_back(each.network.test_accuracy);
    correlation.push_back(each.pearson);
  }
  const auto list = [](const std::vector<double>& values) { return fmt::format("{}", fmt::join(texts(values), ", ")); };

  Findings findings;
  findings.method.push_back(fmt::format(
      "The same network is trained with the objective loss + lambda ||grad_x loss||² for lambda 0, 0.01, 0.1 and 1. Test "
      "accuracies: {}. Errors are mean differences from Monte Carlo with {} samples, or a fifth as many for lambda above 0.",
      list(accuracy), study.sizes().reference));
  findings.claims = {
      {"The larger lambda, the more robust the network.", "section 4",
       fmt::format("Mean p at sigma {}: {}. From the first to the last it grows by {} (95% interval {} to {}).",
                   study.middle_sigma(), list(p), report::rounded(more.mean), report::rounded(more.low),
                   report::rounded(more.high)),
       verdict_of(more.low > 0)},
      {"For more robust networks, mmse is accurate over a larger sigma.", "section 4.1, figure 2b; preprint, figure 9",
       fmt::format("Mean error of {} over all sigmas: {}.", kFewSamples, list(mmse)), verdict_of(mmse.back() < mmse.front())},
      {"For more robust networks, taylor is accurate over a larger sigma.", "preprint, figure 9",
       fmt::format("Mean error of taylor over all sigmas: {}.", list(taylor)), verdict_of(taylor.back() < taylor.front())},
      {"The softmax probability and p are hardly correlated for the network without regularisation, more for robust ones, and "
       "even then only mildly.",
       "preprint, figure 3", fmt::format("Pearson's correlation at sigma {}: {}.", study.middle_sigma(), list(correlation)),
       verdict_of(correlation.front() < 0.5 && correlation.back() > correlation.front() && correlation.back() < 0.9)}};
  findings.figures = {figure_of(study, all, "mean-p", "Mean p", "mean p", &Trained::mean_p),
                      figure_of(study, all, "mmse-error", "Error of mmse:10", "mean of |p - p_mc|", &Trained::mmse),
                      figure_of(study, all, "taylor-error", "Error of taylor", "mean of |p - p_mc|", &Trained::taylor)};
  Sheet sheet{"lambda", "Networks by lambda.",
              columns({"lambda", "test accuracy", "sigma", "mean p", "error of taylor", "error of mmse:10", "Pearson, softmax",
                       "Spearman, softmax"},
                      {})};
  for (const Trained& each : all) {
    for (std::size_t k = 0; k < study.sigmas().size(); ++k) {
      const bool softmax = k == middle;
      sheet.rows.push_back({fmt::format("{}", each.lambda), report::rounded(each.network.test_accuracy),
                            fmt::format("{}", study.sigmas()[k]), report::rounded(each.mean_p[k]),
                            report::rounded(each.taylor[k]), report::rounded(each.mmse[k]),
                            softmax ? report::rounded(each.pearson) : "", softmax ? report::rounded(each.spearman) : ""});
    }
  }
  findings.sheets = {sheet};
  return findings;
}

}  // namespace probust::cli::reproduce
