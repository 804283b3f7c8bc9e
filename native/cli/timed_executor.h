// SPDX-License-Identifier: MIT
#pragma once

#include <ctime>
#include <map>
#include <memory>

#include "probust/exec/forwarding_executor.h"

namespace probust::cli {

/// The processor time of this process so far, in seconds, summed over all threads.
inline double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// An executor that measures the processor time of its computations: the time that an estimator spends on forwards, gradients
/// and moments of the network.
class TimedExecutor final : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;

  /// The time so far, including that of the executors that after() returned.
  double seconds() const {
    double sum = seconds_;
    for (const auto& [inner, timed] : composed_) sum += timed->seconds();
    return sum;
  }

  Result<ExecutorAnswer> answer(const ExecutorQuestion& question) override {
    const double start = processor_seconds();
    Result<ExecutorAnswer> result = inner().answer(question);
    seconds_ += processor_seconds() - start;
    return result;
  }

  /// Computed by answer(), so that its time is measured.
  Result<std::unique_ptr<AverageJob>> averages(const Points& points, const Noise& noise, std::int64_t samples) override {
    return averages_at_once(*this, points, noise, samples);
  }

  Result<Executor*> after(const std::shared_ptr<const NoiseMap>& map) override {
    const Result<Executor*> made = inner().after(map);
    if (!made || made.value() == nullptr) return made;
    std::unique_ptr<TimedExecutor>& timed = composed_[made.value()];
    if (timed == nullptr) timed = std::make_unique<TimedExecutor>(*made.value());
    return timed.get();
  }

 private:
  double seconds_ = 0;
  std::map<Executor*, std::unique_ptr<TimedExecutor>> composed_;  // by the executor that they measure
};

}  // namespace probust::cli
