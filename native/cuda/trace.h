// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cuda/device.h"
#include "cuda/lowering.h"

namespace probust::cuda {

/// Whether PROBUST_CUDA_TRACE is set, and not 0: then the choices of libraries and the time of every step are printed to stderr.
inline bool tracing() {
  static const char* const set = std::getenv("PROBUST_CUDA_TRACE");
  return set != nullptr && std::strcmp(set, "0") != 0;
}

/// A step of a run, measured. Steps are measured one by one, so their sum is longer than a recorded run.
struct MeasuredStep {
  StepKind kind;
  double seconds = 0, flops = 0;
  std::int64_t bytes = 0;     ///< of memory, read and written
  std::int64_t launches = 0;  ///< of kernels of our own
  std::string algorithm;      ///< of the library, if the step is its
};

/// A table of the steps of a run: microseconds, gigabytes and teraflops per second.
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
