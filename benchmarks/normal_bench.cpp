// SPDX-License-Identifier: MIT
//
// Measures the problems of normal_against_scipy.py with Google Benchmark, on one thread.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "normal_problems.h"

namespace {

using probust::bench::Problem;

void measure(benchmark::State& state, const Problem& problem, const probust::normal::Options& options) {
  const probust::bench::Call call(problem);
  probust::normal::Probability answer{};
  for (auto _ : state) {
    answer = call(options);
    benchmark::DoNotOptimize(answer);
  }
  state.SetLabel(std::string(answer.method));
  state.counters["p_fail"] = answer.p_fail;
  state.counters["error"] = answer.error_fail;
}

}  // namespace

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  const std::vector<Problem> problems = probust::bench::read_problems(count > 1 ? arguments[1] : "");
  if (problems.empty()) {
    std::fprintf(stderr, "usage: probust-normal-bench [--benchmark_...] FILE [ABS], FILE as normal_against_scipy.py writes it\n");
    return 2;
  }
  probust::normal::Options options;
  if (count > 2) options.abs = std::atof(arguments[2]);
  for (const Problem& problem : problems) {
    benchmark::RegisterBenchmark(problem.name.c_str(), [&](benchmark::State& state) { measure(state, problem, options); });
  }
  benchmark::RunSpecifiedBenchmarks();
}
