// SPDX-License-Identifier: MIT
#pragma once

#include <ctime>

#include "probust/exec/executor.h"

namespace probust::cli {

/// Processor time of this process so far, over all threads.
inline double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// An executor that measures the processor time of its calls: the time that an estimator spends on the network, in forwards,
/// gradients or moments.
class TimedExecutor final : public Executor {
 private:
  template <class Call>
  auto timed(Call call) {
    const double start = processor_seconds();
    auto result = call();
    seconds_ += processor_seconds() - start;
    return result;
  }

 public:
  /// `executor` must outlive it.
  explicit TimedExecutor(Executor& executor) : Executor(&executor.progress), executor_(executor) {}

  double seconds() const { return seconds_; }

  std::string_view name() const override { return executor_.name(); }
  std::int64_t classes() const override { return executor_.classes(); }
  const Shape& point_shape() const override { return executor_.point_shape(); }
  bool piecewise_constant() override { return executor_.piecewise_constant(); }
  bool handles_missing() override { return executor_.handles_missing(); }
  bool differentiable() const override { return executor_.differentiable(); }
  Batch forward_batch() const override { return executor_.forward_batch(); }
  Batch gradient_batch() const override { return executor_.gradient_batch(); }
  std::int64_t backwards_to_linearize() const override { return executor_.backwards_to_linearize(); }
  const ExecutorOptions& options() const override { return executor_.options(); }

  Result<Tensor> logits(const Tensor& x) override {
    return timed([&] { return executor_.logits(x); });
  }
  Result<std::monostate> jacobian(const Tensor& x,
                                  const std::function<void(std::int64_t, std::span<const float>)>& take) override {
    return timed([&] { return executor_.jacobian(x, take); });
  }
  Result<std::vector<Linearization>> linearize(const Points& points, const NoiseShape& shape) override {
    return timed([&] { return executor_.linearize(points, shape); });
  }
  Result<std::vector<Linearization>> linearize_smoothed(const Points& points, const Noise& noise) override {
    return timed([&] { return executor_.linearize_smoothed(points, noise); });
  }
  Result<std::vector<LogitMoments>> moments(const Points& points, const Noise& noise) override {
    return timed([&] { return executor_.moments(points, noise); });
  }
  Result<std::vector<Linearization>> linearize_averaged(const Points& points, const Noise& noise, std::int64_t samples) override {
    return timed([&] { return executor_.linearize_averaged(points, noise, samples); });
  }
  Result<std::vector<std::vector<std::int64_t>>> sample(const Points& points, const Noise& noise, std::int64_t samples,
                                                        std::int64_t first) override {
    return timed([&] { return executor_.sample(points, noise, samples, first); });
  }
  Result<std::vector<Pairs>> pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first) override {
    return timed([&] { return executor_.pairs(points, noise, count, first); });
  }
  Result<std::vector<Projection>> project(const Points& points, const std::vector<std::vector<std::int64_t>>& rivals,
                                          const Noise& noise, std::int64_t count, std::int64_t known, Around around) override {
    return timed([&] { return executor_.project(points, rivals, noise, count, known, around); });
  }
  normal::ProblemSolver* normal_solver() override { return executor_.normal_solver(); }

 private:
  Executor& executor_;
  double seconds_ = 0;
};

}  // namespace probust::cli
