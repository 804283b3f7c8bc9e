// SPDX-License-Identifier: MIT
#pragma once

// The public interface: a model is loaded once, then asked. Everything below it can be used on its own, too (probust.h).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probust/estimators/estimate_run.h"
#include "probust/estimators/row.h"
#include "probust/exec/executor.h"
#include "probust/exec/function_program.h"
#include "probust/noise/noise.h"
#include "probust/onnx/import.h"
#include "probust/onnx/preprocess.h"

namespace probust {

struct LoadOptions {
  Preprocessing preprocessing = {};   ///< mean, std and layout between the data and the model's input
  Shape point_shape = {};             ///< of one point of the data, e.g. [3, 32, 32]; empty: the model's input without its batch
  Shape input_shape = {};             ///< of the model's input for one example, if neither the model nor point_shape settles it
  std::string output_name = {};       ///< the output to take as logits; empty: the first that is [1, C]
  std::string device = "cpu";         ///< one of backends()
  ExecutorOptions execution = {};     ///< threads and memory
  ExternalFiles external_files = {};  ///< where the model keeps weights in other files
};

struct EstimateOptions {
  std::vector<std::int64_t> targets = {};  ///< [N] the classes that have to survive; empty: the predicted ones
  std::uint64_t seed = 0;                  ///< of the noise
  std::int64_t first_index = 0;            ///< position of the first point in the data; the noise depends on it
  NoiseSource noise_source = {};           ///< reads the files that a noise text names
};

/// A classifier that answers questions. A handle to weights and threads: it can be moved, and its calls must not overlap.
/// All calls throw Error. x is [N, ...], or one point, in the units of the data.
class LoadedModel {
 public:
  LoadedModel(Model model, std::unique_ptr<Executor> executor) : model_(std::move(model)), executor_(std::move(executor)) {}

  std::int64_t classes() const { return executor_->classes(); }
  /// The shape of one point of the data.
  const Shape& point_shape() const { return executor_->point_shape(); }
  /// What import found: inputs, outputs, operators, notes. Empty for functions.
  const Model& imported() const { return model_; }

  /// [N, C].
  Tensor logits(const Tensor& x);

  /// [N, C - 1] margins f_t - f_i over the rivals i of the target t, in order. Targets are [N]; empty: the predicted classes.
  Tensor margins(const Tensor& x, const std::vector<std::int64_t>& targets = {});

  /// The probability that each point keeps its target under the noise: one row for each point, noise and estimator, in this
  /// order. Noise is written as in "gaussian:0.1" (parse_noise), estimators as in "auto:100" (parse_estimator). If one of several
  /// estimators does not support the model, its rows say why in their status.
  std::vector<Row> estimate(const Tensor& x, const std::vector<std::string>& noises,
                            const std::vector<std::string>& estimators = {"auto"}, const EstimateOptions& options = {});

  /// The same as a Job (base/job.h), in steps: call run.step(milliseconds) until it returns true, then take run.rows(). The model
  /// must outlive it.
  EstimateRun start_estimate(const Tensor& x, const std::vector<std::string>& noises,
                             const std::vector<std::string>& estimators = {"auto"}, const EstimateOptions& options = {});

  /// Passes done so far; set `stop`, from any thread or a signal handler, to end the running call or job with
  /// Error{interrupted}.
  Progress& progress() { return executor_->progress; }

  /// For calls that are not here.
  Executor& executor() { return *executor_; }

 private:
  Tensor batched(const Tensor& x) const;

  Model model_;
  std::unique_ptr<Executor> executor_;
};

/// Imports an ONNX model and compiles it. Throws Error: unreadable (not a model, or damaged), unsupported (names the operator and
/// node), usage (options that do not fit the model), resources (one example does not fit the memory).
LoadedModel load_model(std::span<const std::byte> bytes, const LoadOptions& options = {});

/// A classifier that is a function, of points of this shape. A call of the function gets as many points as fit the memory, but at
/// most `execution.batch`; by default at most 8192 points of 64 MB together. No result depends on this. Throws Error{usage} for a
/// shape without elements or fewer than two classes.
LoadedModel model_from_function(ClassifierFunctions functions, Shape point_shape, std::int64_t classes,
                                const ExecutorOptions& execution = {});

}  // namespace probust
