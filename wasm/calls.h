// SPDX-License-Identifier: MIT
// Calls of a model and of a training: jobs, whose results go to JavaScript.
#pragma once

#include <emscripten/val.h>

#include <functional>
#include <memory>
#include <string>

#include "convert.h"
#include "probust/base/job.h"
#include "probust/exec/programs/external_engine.h"
#include "probust/model.h"
#include "probust/train/trainer.h"

namespace probust::wasm {

/// What runs calls: a model, and the external engine if its executor does not run it itself.
struct Runner {
  std::shared_ptr<LoadedModel> model = nullptr;
  std::shared_ptr<ExternalEngine> external = nullptr;

  Executor& executor() const { return model->executor(); }
  /// Of a regression model within a tolerance: the model itself; or null.
  Executor* regression() const { return model->regression(); }
};

/// A job in progress.
class Call {
 public:
  /// `value` converts the result of the finished job. `runner` is what the job asks, if it asks a model.
  Call(std::shared_ptr<Job> job, std::function<val()> value, Runner runner = {})
      : runner_(std::move(runner)), value_(std::move(value)), job_(std::move(job)) {}

  /// Works for about `milliseconds`: {passes, planned} so far, with `value` or `error` at the end, or with `wants`:
  /// {count, values} of inputs [count, d] whose logits the next step needs or, with `cotangents` [count, C], their gradients.
  val step(double milliseconds);

  /// Supplies the wanted logits [count, C] or gradients [count, d]: {value} or {error}.
  val answer(const val& values);

 private:
  Runner runner_;
  std::function<val()> value_;
  std::shared_ptr<Job> job_;
};

/// Starts "logits", "check", "firstCheck", "linearize", "estimate", "sweep", "slice", "cloud" or "nearestBoundary". Throws Error
/// if arguments are invalid.
std::shared_ptr<Call> start(const std::string& operation, const Runner& runner, const CallArguments& arguments);

/// Generates data of `arguments.kind`. Throws likewise.
std::shared_ptr<Call> start_data(const CallArguments& arguments);

/// A trainer for `arguments.x` with `arguments.labels`. Throws likewise.
std::shared_ptr<Trainer> make_trainer(const CallArguments& arguments);

/// Starts "run" or "save". Throws likewise.
std::shared_ptr<Call> start_training(const std::string& operation, const std::shared_ptr<Trainer>& trainer,
                                     const CallArguments& arguments);

}  // namespace probust::wasm
