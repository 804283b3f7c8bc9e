// SPDX-License-Identifier: MIT
#include "experiments/main_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "probust/estimators/estimator.h"

namespace probust::cli::reproduce {
namespace {

std::vector<std::string> together(std::initializer_list<std::vector<std::string>> lists) {
  std::vector<std::string> all;
  for (const std::vector<std::string>& list : lists) {
    for (const std::string& each : list) {
      if (std::find(all.begin(), all.end(), each) == all.end()) all.push_back(each);
    }
  }
  return all;
}

}  // namespace

MainRun main_run(Study& study) {
  MainRun run;
  const std::int64_t samples = study.sizes().samples;
  run.reference = fmt::format("mc:{}", study.sizes().reference);
  run.mmse = fmt::format("mmse:{}", samples);
  run.mmse_mvs = fmt::format("mmse_mvs:{}", samples);
  run.paper = {"taylor", "taylor_mvs", run.mmse, run.mmse_mvs, "softmax"};
  run.equal_passes = parse_estimator("mmse:5").passes(study.subject().classes);
  run.equal_mc = fmt::format("mc:{}", run.equal_passes);
  run.equal_cost = {"mmse:5", run.equal_mc, fmt::format("probit:{}", run.equal_passes),
                    fmt::format("probit:{}:pooled", run.equal_passes), fmt::format("regression:{}", run.equal_passes)};
  run.linear = {"taylor", "taylor_mvs", run.mmse, "softmax"};
  run.of_network = {.name = "network",
                    .model = study.network().path,
                    .estimators = together({{run.reference}, run.paper, run.equal_cost, {kFewSamples}}),
                    .sigma = study.sigmas()};
  run.of_linear = {.name = "linear",
                   .model = study.linear().path,
                   .estimators = together({{run.reference}, run.linear}),
                   .sigma = study.sigmas()};
  return run;
}

WideRun wide_run(Study& study) {
  WideRun run{
      {.name = "all-points", .model = study.network().path, .sigma = {study.middle_sigma()}, .data = study.subject().test},
      "mc:1000",
      kFewSamples};
  run.question.estimators = {run.mc, run.mmse, "softmax"};
  return run;
}

}  // namespace probust::cli::reproduce
