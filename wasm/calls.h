// SPDX-License-Identifier: MIT
// What a model and a training can be asked, in steps: a page must not stand still, and wants to stop what it no longer needs.
#pragma once

#include <emscripten/val.h>

#include <memory>

#include "convert.h"
#include "probust/exec/executor.h"
#include "probust/exec/outside.h"
#include "probust/exec/stepwise.h"
#include "probust/train/trainer.h"

namespace probust::web {

/// What answers calls: an executor, and who else is asked, where it is not the executor that runs the model.
struct Runner {
  std::shared_ptr<Executor> executor;
  std::shared_ptr<Outside> outside = nullptr;
  std::shared_ptr<StepwiseExecutor::Pace> pace = std::make_shared<StepwiseExecutor::Pace>();
};

/// A call under way.
class Call {
 public:
  Call() = default;
  virtual ~Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Works for about as long as `milliseconds`: {passes, planned} so far, with `value` or `error` at the end, or with `wants`:
  /// {count, values} of inputs [count, d] whose logits the next step needs.
  val step(double milliseconds);

  /// The logits [count, C] that were wanted: {value} or {error}.
  virtual val answer(const val& logits);

 protected:
  /// The value, or undefined where there is more to do. Throws Error.
  virtual val attempt(double milliseconds) = 0;
  virtual std::int64_t done() const = 0;
  virtual std::int64_t planned() const = 0;
  /// What somebody else has to give, if anything.
  virtual const Outside::Inputs* wanted() const { return nullptr; }
};

/// Starts "logits", "linearize", "estimate", "sweep", "slice", "cloud" or "nearestBoundary". Throws Error where arguments are
/// wrong.
std::shared_ptr<Call> start(const std::string& operation, const Runner& runner, const Arguments& arguments);

/// Makes data of `arguments.kind`. Throws likewise.
std::shared_ptr<Call> start_data(const Arguments& arguments);

/// A trainer of `arguments.x` with `arguments.labels`. Throws likewise.
std::shared_ptr<Trainer> make_trainer(const Arguments& arguments);

/// Starts "run" or "save". Throws likewise.
std::shared_ptr<Call> start_training(const std::string& operation, const std::shared_ptr<Trainer>& trainer,
                                     const Arguments& arguments);

}  // namespace probust::web
