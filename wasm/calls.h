// SPDX-License-Identifier: MIT
// Calls that use a model or train a network: jobs whose results are returned to JavaScript.
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

/// The model that calls use, and the external engine if the executor does not run the model itself or noise is a function.
struct Runner {
  std::shared_ptr<LoadedModel> model = nullptr;
  std::shared_ptr<ExternalEngine> external = nullptr;

  Executor& executor() const { return model->executor(); }
  /// The regression model, if the executor is for its tolerance; otherwise null.
  Executor* regression() const { return model->regression(); }
};

/// A job in progress.
class Call {
 public:
  /// `value` converts the result of the finished job. `runner` is the model that the job uses, if any.
  Call(std::shared_ptr<Job> job, std::function<val()> value, Runner runner = {})
      : runner_(std::move(runner)), value_(std::move(value)), job_(std::move(job)) {}

  /// Works for about `milliseconds`. Returns {passes, planned} so far; at the end, also `value` or `error`. If the next step
  /// needs values from the caller, the result also has `wants`: {count, values}, with inputs [count, d] in `values`. The call
  /// then needs the logits of these inputs; or their gradients, if `wants` has `cotangents` [count, C]; or noisy samples of them,
  /// if `wants` has the name of a function, `noise`, and its normals, `z` [count, k].
  val step(double milliseconds);

  /// Supplies the wanted logits [count, C], gradients [count, d] or noisy samples [count, d]: {value} or {error}.
  val answer(const val& values);

 private:
  Runner runner_;
  std::function<val()> value_;
  std::shared_ptr<Job> job_;
};

/// Starts "logits", "check", "firstCheck", "linearize", "estimate", "sweep", "slice", "cloud" or "nearestBoundary". Throws
/// Error if arguments are invalid.
std::shared_ptr<Call> start(const std::string& operation, const Runner& model, const CallArguments& arguments);

/// Starts generating data of `arguments.kind`. Throws Error if arguments are invalid.
std::shared_ptr<Call> start_data(const CallArguments& arguments);

/// Creates a trainer for `arguments.x` with `arguments.labels`. Throws Error if arguments are invalid.
std::shared_ptr<Trainer> make_trainer(const CallArguments& arguments);

/// Starts "run" or "save". Throws Error if arguments are invalid.
std::shared_ptr<Call> start_training(const std::string& operation, const std::shared_ptr<Trainer>& trainer,
                                     const CallArguments& arguments);

}  // namespace probust::wasm
