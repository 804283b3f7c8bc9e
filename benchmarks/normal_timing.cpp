// SPDX-License-Identifier: MIT
//
// The loop of normal_bench.cpp for WebAssembly under node, for which there is no Google Benchmark. Prints one line per problem:
// name, seconds per call (the median of several batches of calls), p_fail, its error, and the method.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "normal_problems.h"

namespace {

using Clock = std::chrono::steady_clock;

template <class Call>
double seconds_a_call(const Call& call) {
  constexpr double kBatch = 0.01;  // duration of a batch of calls, in seconds
  int calls = 1;
  std::vector<double> batches;
  while (batches.size() < 7) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds < kBatch && calls < 1000000 && batches.empty()) {
      calls *= 2;
    } else {
      batches.push_back(seconds / calls);
    }
  }
  std::nth_element(batches.begin(), batches.begin() + 3, batches.end());
  return batches[3];
}

}  // namespace

int main(int count, char** arguments) {
  const auto problems = probust::bench::read_problems(count > 1 ? arguments[1] : "");
  if (problems.empty()) {
    std::fprintf(stderr, "usage: probust-normal-timing FILE [ABS], FILE as normal_against_scipy.py writes it\n");
    return 2;
  }
  probust::normal::Options options;
  if (count > 2) options.abs = std::atof(arguments[2]);
  for (const auto& problem : problems) {
    const probust::bench::Call call(problem);
    probust::normal::Probability answer{};
    const double seconds = seconds_a_call([&] { answer = call(options); });
    std::printf("%s %.9g %.17g %.3g %.*s\n", problem.name.c_str(), seconds, answer.p_fail, answer.error_fail,
                static_cast<int>(answer.method.size()), answer.method.data());
  }
}
