// SPDX-License-Identifier: MIT
// Calls of a model and of a training: jobs, whose results go to JavaScript.
#pragma once

#include <emscripten/val.h>

#include <functional>
#include <memory>
#include <string>

#include "convert.h"
#include "probust/base/job.h"
#include "probust/check/of_model.h"
#include "probust/exec/executor.h"
#include "probust/exec/external_engine.h"
#include "probust/onnx/preprocess.h"
#include "probust/train/trainer.h"

namespace probust::wasm {

/// What answers calls: an executor, and the external engine if the executor does not run the model itself; for a regression model
/// within a tolerance, also the model itself.
struct Runner {
  std::shared_ptr<Executor> executor = nullptr;
  std::shared_ptr<ExternalEngine> external = nullptr;
  std::shared_ptr<Executor> regression = nullptr;
  Shape input_shape = {};            ///< of the model at batch 1
  Preprocessing preprocessing = {};  ///< before it
  std::string decision = {};         ///< what decides the class, in one line

  /// What checks see, if `of` runs it.
  CheckedModel checked(Executor& of) const { return {of, input_shape, preprocessing, decision}; }

  /// What the caller's points go through.
  Executor& model() const { return regression ? *regression : *executor; }
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
