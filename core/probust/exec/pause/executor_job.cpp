// SPDX-License-Identifier: MIT
#include "probust/exec/pause/executor_job.h"

#include <limits>

#include "probust/exec/pause/stepwise.h"

namespace probust {

ExecutorJob::ExecutorJob(Executor& executor, ExternalEngine* external)
    : Job(executor.progress.stop),
      external_(external),
      stepwise_(std::make_unique<StepwiseExecutor>(executor, time(), external)) {}

ExecutorJob::~ExecutorJob() = default;

std::int64_t ExecutorJob::done() const { return external_ != nullptr && external_->passes() > 0 ? external_->passes() : passes_; }

Executor& ExecutorJob::executor() { return *stepwise_; }
const Executor& ExecutorJob::executor() const { return *stepwise_; }

bool ExecutorJob::can_pause() { return external_ != nullptr || time().left() != std::numeric_limits<double>::infinity(); }

bool ExecutorJob::advance() {
  stepwise_->begin_attempt();
  const std::int64_t before = stepwise_->progress.passes;
  const Result<bool> more = guarded("the run", [this] { return piece(); });
  passes_ += stepwise_->progress.passes - before;
  const bool waits = external_ != nullptr && external_->wanted() != nullptr;
  if (waits) time().end();
  if (stepwise_->paused() || waits) {
    if (more)
      throw Error{ErrorCode::internal, "the run", "resumed without its results", "this is a bug in probust; please report it"};
    return true;
  }
  stepwise_->forget();
  if (external_ != nullptr) external_->forget();
  return more.value();
}

}  // namespace probust
