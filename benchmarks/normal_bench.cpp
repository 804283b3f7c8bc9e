// SPDX-License-Identifier: MIT
//
// Google Benchmark over the problems of normal_against_scipy.py, one thread. Square problems go in as R, as scipy takes them;
// low-rank ones as their factor.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "normal_problems.h"
#include "probust/normal/multivariate.h"

namespace {

using probust::bench::Problem;

void measure(benchmark::State& state, const Problem& problem) {
  const bool low_rank = problem.U.cols() < problem.U.rows();
  const Eigen::MatrixXd R = low_rank ? Eigen::MatrixXd() : Eigen::MatrixXd(problem.U * problem.U.transpose());
  probust::normal::Probability answer{};
  for (auto _ : state) {
    answer = low_rank ? probust::normal::mvn_cdf_factor(problem.z, problem.U) : probust::normal::mvn_cdf(problem.z, R);
    benchmark::DoNotOptimize(answer);
  }
  state.SetLabel(std::string(answer.method));
  state.counters["p_fail"] = answer.p_fail;
  state.counters["error"] = answer.error_fail;
}

}  // namespace

int main(int count, char** arguments) {
  constexpr std::string_view kOption = "--problems=";
  std::string path;
  benchmark::Initialize(&count, arguments);
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument.substr(0, kOption.size()) == kOption) path = argument.substr(kOption.size());
  }
  static const std::vector<Problem> problems = probust::bench::read_problems(path);
  if (problems.empty()) {
    std::fprintf(stderr, "usage: probust-normal-bench --problems=FILE, as normal_against_scipy.py writes it\n");
    return 2;
  }
  for (const Problem& problem : problems) {
    benchmark::RegisterBenchmark(problem.name.c_str(), [&](benchmark::State& state) { measure(state, problem); });
  }
  benchmark::RunSpecifiedBenchmarks();
}
