// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "probust/base/job.h"
#include "probust/exec/executor.h"
#include "probust/exec/programs/external_engine.h"

namespace probust {

class StepwiseExecutor;

/// A job whose pieces are ordinary code that calls an executor. If the step's time limit is reached, or an external engine must
/// answer first, the current question ends with Error{interrupted}. The next step repeats the piece, and questions that were
/// already answered get the stored answers. So a repeated piece must ask the same questions (Error{internal} if an argument
/// differs; a noise must have the same shape object), and must change the state of the job only after the last question.
class ExecutorJob : public Job {
 public:
  ~ExecutorJob() override;

  /// The number of forward and backward passes or, if an external engine runs the model, of the inputs that it has evaluated.
  std::int64_t done() const final;

 protected:
  /// `executor` must outlive this object, and so must `external`, the source of its logits or of the samples of its noise, if
  /// any.
  explicit ExecutorJob(Executor& executor, ExternalEngine* external = nullptr);

  /// The executor that a piece must use.
  Executor& executor();
  const Executor& executor() const;

  /// Whether the piece may be paused and repeated. False if the step has no time limit.
  bool can_pause();

 private:
  /// Runs the next piece. Returns whether there are more.
  virtual bool piece() = 0;
  bool advance() final;

  ExternalEngine* external_;
  std::unique_ptr<StepwiseExecutor> stepwise_;
  std::int64_t passes_ = 0;
};

/// A job with a single piece: a function that is called with the executor.
template <class T>
class Computation final : public ExecutorJob {
 public:
  Computation(Executor& executor, std::int64_t planned, std::function<T(Executor&)> body, ExternalEngine* external = nullptr)
      : ExecutorJob(executor, external), planned_(planned), body_(std::move(body)) {}

  std::int64_t planned() const override { return planned_; }

  /// The result, once the job is finished.
  const T& result() const { return result_.value(); }

 private:
  bool piece() override {
    result_ = body_(executor());
    return false;
  }

  std::int64_t planned_;
  std::function<T(Executor&)> body_;
  std::optional<T> result_;
};

}  // namespace probust
