// SPDX-License-Identifier: MIT
// How many samples Monte Carlo and MMSE need. Their results are compared with results from many more samples, drawn with a
// different seed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/answers.h"
#include "experiments/experiments.h"
#include "experiments/study.h"
#include "report/words.h"

namespace probust::cli::reproduce {
namespace {

// Results that differ from the limit by at most this count as converged: the difference is too small to be seen in the paper's
// figures.
constexpr double kTolerance = 0.01;

struct Curve {
  std::string name;
  std::vector<double> samples, absolute, relative;

  // The smallest number of samples from which the mean difference stays within `tolerance`; 0 if there is none.
  double converged(double tolerance) const {
    double least = 0;
    for (std::size_t k = samples.size(); k-- > 0 && absolute[k] <= tolerance;) least = samples[k];
    return least;
  }
  double at(double count) const {
    for (std::size_t k = 0; k < samples.size(); ++k) {
      if (samples[k] == count) return absolute[k];
    }
    return 0;
  }
};

std::string estimator(const std::string& name, double samples) { return fmt::format("{}:{:.0f}", name, samples); }

Curve curve_of(Study& study, const std::string& model, const std::string& name, const std::vector<double>& samples,
               double limit) {
  Question question{.name = "convergence-" + name, .model = model, .sigma = {study.middle_sigma()}};
  for (const double count : samples) question.estimators.push_back(estimator(name, count));
  const Answers answers(study.rows(question));
  Question reference{.name = question.name + "-limit",
                     .model = model,
                     .estimators = {estimator(name, limit)},
                     .sigma = question.sigma,
                     .seed = 1};
  const Answers limits(study.rows(reference));
  Curve curve{name, samples, {}, {}};
  for (const double count : samples) {
    const ErrorOf error = error_of(answers.p(estimator(name, count), study.middle_sigma()),
                                   limits.p(reference.estimators[0], study.middle_sigma()));
    curve.absolute.push_back(error.absolute);
    curve.relative.push_back(error.relative);
  }
  return curve;
}

Figure figure_of(const char* name, const char* what, const std::vector<Curve>& curves, bool relative) {
  report::Chart chart;
  chart.title = fmt::format("{} difference between p and its limit", what);
  chart.x = {.label = "samples per point", .logarithmic = true};
  chart.y = {.label = "mean over the points", .logarithmic = true};
  for (const Curve& curve : curves)
    chart.series.push_back(line(curve.name, curve.samples, relative ? curve.relative : curve.absolute));
  if (!relative) chart.level = kTolerance;
  return {name,
          fmt::format("{} difference from the same estimator with many more samples and a different seed.{}", what,
                      relative ? "" : " The dashed line is the threshold for convergence."),
          chart};
}

std::string needed(const Curve& curve) {
  const double count = curve.converged(kTolerance);
  return count > 0 ? fmt::format("{:.0f} samples", count) : fmt::format("more than {:.0f} samples", curve.samples.back());
}

}  // namespace

Findings convergence(Study& study) {
  const double most = static_cast<double>(study.sizes().reference), limit = 5 * most;
  std::vector<double> copies;
  for (const double count : {10, 30, 100, 300, 1000, 3000, 10000})
    if (count <= most) copies.push_back(count);
  const std::vector<double> samples = {1, 2, 5, 10, 25, 50};
  const double mmse_limit = static_cast<double>(std::max<std::int64_t>(100, 2 * study.sizes().samples));
  const TrainedModel network = study.network();
  const Curve mc = curve_of(study, network.path, "mc", copies, limit),
              mmse = curve_of(study, network.path, "mmse", samples, mmse_limit);

  Findings findings;
  findings.method.push_back(fmt::format(
      "Monte Carlo (mc) with up to {:.0f} samples and the MMSE estimator (mmse) with up to {:.0f} samples, at sigma {}. The "
      "limits "
      "have {:.0f} and {:.0f} samples, drawn with a different seed. Converged means a mean difference of at most {}.",
      most, samples.back(), study.middle_sigma(), limit, mmse_limit, kTolerance));
  const double slope = std::log(mc.absolute.back() / mc.absolute.front()) / std::log(copies.back() / copies.front());
  findings.claims = {
      {"Monte Carlo needs about 10,000 samples per point to converge.", "section 3.1; preprint, figure 5",
       fmt::format(
           "Here {} are enough. The difference is {} with {:.0f} samples; it falls as n to the power of {:.2f} (expected: "
           "-0.5).",
           needed(mc), report::rounded(mc.absolute.back()), copies.back(), slope),
       verdict_of(mc.converged(kTolerance) > 3000 || mc.converged(kTolerance) == 0)},
      {"The MMSE estimator converges with 5 to 10 samples.", "section 3.2.2; preprint, figure 6",
       fmt::format("Here it needs {}. The difference from its limit is {} with 5 samples, and {} with 10.", needed(mmse),
                   report::rounded(mmse.at(5)), report::rounded(mmse.at(10))),
       verdict_of(mmse.converged(kTolerance) > 0 && mmse.converged(kTolerance) <= 10)}};
  findings.figures = {figure_of("absolute", "Absolute", {mc, mmse}, false), figure_of("relative", "Relative", {mc, mmse}, true)};
  Sheet sheet{"convergence", "Mean difference between p and its limit.",
              columns({"estimator", "samples", "absolute", "relative"})};
  for (const Curve& curve : {mc, mmse}) {
    for (std::size_t k = 0; k < curve.samples.size(); ++k)
      sheet.rows.push_back({curve.name, fmt::format("{:.0f}", curve.samples[k]), report::rounded(curve.absolute[k]),
                            report::rounded(curve.relative[k])});
  }
  findings.sheets = {sheet};
  return findings;
}

}  // namespace probust::cli::reproduce
