// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "probust/exec/executor.h"

namespace probust {

/// An executor that passes questions on to an inner one. Derived classes change how questions are answered (`answer`); all other
/// calls go to the inner executor.
class ForwardingExecutor : public Executor {
 public:
  /// `inner` must outlive this object.
  explicit ForwardingExecutor(Executor& inner) : Executor(&inner.progress), inner_(inner) {}

  const ExecutorFacts& facts() const final { return inner_.facts(); }
  bool piecewise_constant() final { return inner_.piecewise_constant(); }
  Batch gradient_batch() const final { return inner_.gradient_batch(); }
  Result<std::unique_ptr<AverageJob>> averages(const Points& points, const Noise& noise, std::int64_t samples) override {
    return inner_.averages(points, noise, samples);
  }
  Result<std::vector<KindTime>> profile(const Points& points, bool gradients) final { return inner_.profile(points, gradients); }
  void release() override { inner_.release(); }
  /// Returns the inner executor's result, so questions to that result bypass this executor. Override this function if that
  /// matters.
  Result<Executor*> after(const std::shared_ptr<const NoiseMap>& map) override { return inner_.after(map); }
  normal::ProblemSolver* normal_solver() final { return inner_.normal_solver(); }

 protected:
  Executor& inner() const { return inner_; }

 private:
  Executor& inner_;
};

}  // namespace probust
