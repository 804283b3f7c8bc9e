// SPDX-License-Identifier: MIT
// The errors of the estimators, measured against Monte Carlo with many samples, by sigma; and the errors of estimators with the
// same cost.
#include <fmt/format.h>

#include <numeric>

#include "experiments/answers.h"
#include "experiments/experiments.h"
#include "experiments/main_run.h"
#include "report/words.h"

namespace probust::cli::reproduce {
namespace {

// The errors of one estimator at each sigma.
struct Errors {
  std::string estimator;
  std::vector<double> absolute, relative;

  double mean() const { return std::accumulate(absolute.begin(), absolute.end(), 0.0) / static_cast<double>(absolute.size()); }
};

std::vector<Errors> errors_of(const Answers& answers, const std::vector<std::string>& estimators, const std::string& reference,
                              const std::vector<double>& sigmas) {
  std::vector<Errors> all;
  for (const std::string& estimator : estimators) {
    Errors errors{estimator, {}, {}};
    for (const double sigma : sigmas) {
      const ErrorOf error = error_of(answers.p(estimator, sigma), answers.p(reference, sigma));
      errors.absolute.push_back(error.absolute);
      errors.relative.push_back(error.relative);
    }
    all.push_back(errors);
  }
  return all;
}

double mean_of(const std::vector<Errors>& errors, const std::string& estimator) {
  for (const Errors& each : errors) {
    if (each.estimator == estimator) return each.mean();
  }
  throw Error{ErrorCode::internal, "the run", "has no measured errors for " + estimator, ""};
}

report::Chart chart_of(const std::string& title, const std::vector<Errors>& errors, const std::vector<double>& sigmas,
                       bool relative) {
  report::Chart chart;
  chart.title = title;
  chart.x = {.label = "sigma", .every_value = true};
  chart.y = {.label = relative ? "mean of |p - p_mc| / p_mc" : "mean of |p - p_mc|", .low = 0};
  for (const Errors& each : errors)
    chart.series.push_back(line(each.estimator, sigmas, relative ? each.relative : each.absolute));
  return chart;
}

Sheet sheet_of(const std::string& name, const std::string& caption, const std::vector<Errors>& errors,
               const std::vector<double>& sigmas, std::vector<double> Errors::*values) {
  std::vector<std::string> titles = {"estimator"};
  for (const double sigma : sigmas) titles.push_back(fmt::format("sigma {}", sigma));
  Sheet sheet{name, caption, columns(titles)};
  for (const Errors& each : errors) {
    std::vector<std::string> row = {each.estimator}, cells = texts(each.*values);
    row.insert(row.end(), cells.begin(), cells.end());
    sheet.rows.push_back(row);
  }
  return sheet;
}

bool grows(const Errors& errors) { return errors.absolute.front() < errors.absolute.back(); }

}  // namespace

Findings error(Study& study) {
  const MainRun run = main_run(study);
  const std::vector<double>& sigmas = study.sigmas();
  const TrainedModel network = study.network(), linear = study.linear();
  const Answers answers(study.rows(run.of_network)), linear_answers(study.rows(run.of_linear));
  const std::vector<Errors> paper = errors_of(answers, run.paper, run.reference, sigmas),
                            equal = errors_of(answers, run.equal_cost, run.reference, sigmas),
                            straight = errors_of(linear_answers, run.linear, run.reference, sigmas);
  double floor = 0, linear_floor = 0;  // the part of each error that is due to the finite number of samples of the reference
  for (const double sigma : sigmas) {
    floor += sampling_error(answers.p(run.reference, sigma), study.sizes().reference) / static_cast<double>(sigmas.size());
    linear_floor +=
        sampling_error(linear_answers.p(run.reference, sigma), study.sizes().reference) / static_cast<double>(sigmas.size());
  }

  const double taylor = mean_of(paper, "taylor"), taylor_mvs = mean_of(paper, "taylor_mvs"), mmse = mean_of(paper, run.mmse),
               mmse_mvs = mean_of(paper, run.mmse_mvs), softmax = mean_of(paper, "softmax"), mmse5 = mean_of(equal, "mmse:5"),
               mc = mean_of(equal, run.equal_mc), straight_taylor = mean_of(straight, "taylor"),
               straight_mmse = mean_of(straight, run.mmse);
  Findings findings;
  findings.method.push_back(fmt::format(
      "The reference is {}, whose own mean error is about {}. Points: {}. The network has a test accuracy of {}, the linear "
      "classifier of {}. Means of errors are over the points and sigmas {}.",
      run.reference, report::rounded(floor),
      report::counted(static_cast<std::int64_t>(answers.p(run.reference, sigmas[0]).size())),
      report::percent(network.test_accuracy), report::percent(linear.test_accuracy), fmt::join(sigmas, ", ")));
  bool smaller = true;
  for (const Errors& each : paper) smaller = smaller && grows(each);
  findings.claims = {
      {"The smaller sigma is, the more accurate the estimators are.", "section 4.1, figure 2a",
       fmt::format("From sigma {} to {}, the error of taylor grows from {} to {}, that of {} from {} to {}.", sigmas.front(),
                   sigmas.back(), report::rounded(paper[0].absolute.front()), report::rounded(paper[0].absolute.back()), run.mmse,
                   report::rounded(paper[2].absolute.front()), report::rounded(paper[2].absolute.back())),
       verdict_of(smaller)},
      {"mmse is more accurate than taylor, and taylor is more accurate than softmax.", "section 4.1, figure 2a",
       fmt::format("Mean errors: {} {}, taylor {}, softmax {}.", run.mmse, report::rounded(mmse), report::rounded(taylor),
                   report::rounded(softmax)),
       verdict_of(mmse < taylor && taylor < softmax)},
      {"With the mv-sigmoid instead of the normal CDF, mmse_mvs is among the best, next to mmse.", "section 4.1, figure 2a",
       fmt::format("The mean error of mmse_mvs is {}, {:.1f} times that of mmse ({}); that of taylor_mvs is {}, taylor's {}.",
                   report::rounded(mmse_mvs), mmse_mvs / mmse, report::rounded(mmse), report::rounded(taylor_mvs),
                   report::rounded(taylor)),
       verdict_of(mmse_mvs < 1.25 * mmse)},
      {"For linear models, taylor and mmse are accurate for every sigma.", "section 4.1; preprint, figure 8",
       fmt::format("The mean differences from the reference are {} (taylor) and {} ({}, whose samples vary); the reference's "
                   "samples alone cause "
                   "{}. Confirmed if neither is above 0.02.",
                   report::rounded(straight_taylor), report::rounded(straight_mmse), run.mmse, report::rounded(linear_floor)),
       verdict_of(straight_taylor <= 0.02 && straight_mmse <= 0.02)},
      {"mmse is more efficient than Monte Carlo: 5 samples suffice instead of 10,000.", "section 4.2",
       fmt::format("At equal cost, {} passes for each point, mmse:5 has a mean error of {}, and {} of {}.", run.equal_passes,
                   report::rounded(mmse5), run.equal_mc, report::rounded(mc)),
       verdict_of(mmse5 < mc)}};
  findings.figures = {{"absolute", "Absolute errors of the paper's estimators on the network.",
                       chart_of("Absolute error, network", paper, sigmas, false)},
                      {"relative", "Relative errors of the paper's estimators on the network.",
                       chart_of("Relative error, network", paper, sigmas, true)},
                      {"equal-cost",
                       fmt::format("Estimators with {} passes for each point: mmse:5, Monte Carlo, and three of probust's own.",
                                   run.equal_passes),
                       chart_of("Absolute error at equal cost, network", equal, sigmas, false)},
                      {"linear", "Absolute errors on the linear classifier.",
                       chart_of("Absolute error, linear classifier", straight, sigmas, false)}};
  findings.sheets = {
      sheet_of("network", "Absolute errors of the paper's estimators on the network.", paper, sigmas, &Errors::absolute),
      sheet_of("network-relative", "Their relative errors.", paper, sigmas, &Errors::relative),
      sheet_of("equal-cost", "Absolute errors of estimators of equal cost on the network.", equal, sigmas, &Errors::absolute),
      sheet_of("linear", "Absolute errors on the linear classifier.", straight, sigmas, &Errors::absolute)};
  return findings;
}

}  // namespace probust::cli::reproduce
