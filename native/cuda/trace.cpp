// SPDX-License-Identifier: MIT
#include "cuda/trace.h"

#include <fmt/format.h>

#include <string>

namespace probust::cuda {
namespace {

std::string row(double seconds, std::int64_t bytes, double flops, std::int64_t launches) {
  const double gigabytes = seconds > 0 ? 1e-9 * static_cast<double>(bytes) / seconds : 0,
               teraflops = seconds > 0 ? 1e-12 * flops / seconds : 0;
  return fmt::format("{:>10.1f} us {:>9.2f} MB {:>9.1f} GB/s {:>8.2f} TFLOP/s {:>3} kernels  ", 1e6 * seconds,
                     1e-6 * static_cast<double>(bytes), gigabytes, teraflops, launches);
}

}  // namespace

void Trace::print() const {
  std::string text =
      fmt::format("run of {} examples and {} seeds in {}, step by step\n", batch_.examples, batch_.seeds, name_of(precision_));
  MeasuredStep sum;
  std::int64_t by_libraries = 0;
  for (const MeasuredStep& step : steps_) {
    text += row(step.seconds, step.bytes, step.flops, step.launches) + step.kind.name +
            (step.algorithm.empty() ? "\n" : ": " + step.algorithm + "\n");
    sum.seconds += step.seconds;
    sum.flops += step.flops;
    sum.bytes += step.bytes;
    sum.launches += step.launches;
    if (step.kind.by == StepKind::By::library) ++by_libraries;
  }
  text += row(sum.seconds, sum.bytes, sum.flops, sum.launches) +
          fmt::format("{} steps, {} by libraries; kernels are our own\n", steps_.size(), by_libraries);
  fmt::print(stderr, "{}", text);
}

}  // namespace probust::cuda
