// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cuda/device.h"
#include "cuda/lowering.h"

namespace probust::cuda {

/// Whether the environment variable PROBUST_CUDA_TRACE is set and not 0. If so, the algorithms that the libraries choose and
/// the time of each step are printed to stderr.
inline bool tracing() {
  static const char* const set = std::getenv("PROBUST_CUDA_TRACE");
  return set != nullptr && std::strcmp(set, "0") != 0;
}

/// The measurements of a step. Steps are measured separately, so the sum of their times exceeds that of a recorded run.
struct MeasuredStep {
  StepKind kind;
  double seconds = 0, flops = 0;
  std::int64_t bytes = 0;     ///< number of bytes that are read and written
  std::int64_t launches = 0;  ///< number of launches of our own kernels
  std::string algorithm;      ///< the library's algorithm, if the library computes the step
};

/// A table of the steps of a run, with microseconds, gigabytes and teraflops per second.
class Trace {
 public:
  Trace(const Batch& batch, Precision precision) : batch_(batch), precision_(precision) {}
  void add(MeasuredStep step) { steps_.push_back(std::move(step)); }
  void print() const;

 private:
  Batch batch_;
  Precision precision_;
  std::vector<MeasuredStep> steps_;
};

}  // namespace probust::cuda
