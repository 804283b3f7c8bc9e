// SPDX-License-Identifier: MIT
// Calls of a model and of a training, in steps: a page must not block, and must be able to stop calls.
#pragma once

#include <emscripten/val.h>

#include <memory>

#include "convert.h"
#include "probust/exec/executor.h"
#include "probust/exec/external_engine.h"
#include "probust/exec/stepwise.h"
#include "probust/train/trainer.h"

namespace probust::wasm {

/// What answers calls: an executor, and the external engine if the executor does not run the model itself.
struct Runner {
  std::shared_ptr<Executor> executor;
  std::shared_ptr<ExternalEngine> external = nullptr;
  std::shared_ptr<StepwiseExecutor::Pace> pace = std::make_shared<StepwiseExecutor::Pace>();
};

/// A call in progress.
class Call {
 public:
  Call() = default;
  virtual ~Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Works for about `milliseconds`: {passes, planned} so far, with `value` or `error` at the end, or with `wants`:
  /// {count, values} of inputs [count, d] whose logits the next step needs.
  val step(double milliseconds);

  /// Supplies the wanted logits [count, C]: {value} or {error}.
  virtual val answer(const val& logits);

 protected:
  /// The value, or undefined if there is more to do. Throws Error.
  virtual val attempt(double milliseconds) = 0;
  virtual std::int64_t done() const = 0;
  virtual std::int64_t planned() const = 0;
  /// Inputs that an external engine must evaluate, if any.
  virtual const ExternalEngine::Inputs* wanted() const { return nullptr; }
};

/// Starts "logits", "linearize", "estimate", "sweep", "slice", "cloud" or "nearestBoundary". Throws Error if arguments are
/// invalid.
std::shared_ptr<Call> start(const std::string& operation, const Runner& runner, const CallArguments& arguments);

/// Generates data of `arguments.kind`. Throws likewise.
std::shared_ptr<Call> start_data(const CallArguments& arguments);

/// A trainer for `arguments.x` with `arguments.labels`. Throws likewise.
std::shared_ptr<Trainer> make_trainer(const CallArguments& arguments);

/// Starts "run" or "save". Throws likewise.
std::shared_ptr<Call> start_training(const std::string& operation, const std::shared_ptr<Trainer>& trainer,
                                     const CallArguments& arguments);

}  // namespace probust::wasm
