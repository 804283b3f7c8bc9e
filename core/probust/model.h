// SPDX-License-Identifier: MIT
#pragma once

// The public interface: load a model once, then query it. Everything below it can also be used on its own (probust.h).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probust/check/of_model.h"
#include "probust/estimators/gradient/gradient_of_p.h"
#include "probust/exec/devices.h"
#include "probust/exec/executor.h"
#include "probust/exec/programs/function_program.h"
#include "probust/noise/noise.h"
#include "probust/onnx/import.h"
#include "probust/onnx/preprocess.h"
#include "probust/run/row.h"
#include "probust/run/run.h"

namespace probust {

struct LoadOptions {
  Preprocessing preprocessing = {};  ///< mean, std and layout between the data and the model's input
  /// Shape of one point of the data, e.g. [3, 32, 32]; by default that of the model's input without the batch axis.
  Shape point_shape = {};
  Shape input_shape = {};  ///< shape of the model's input for one example, if neither the model nor point_shape determines it
  /// The output or inner tensor whose values decide the class; if empty, the only suitable one.
  std::string output_name = {};
  bool decide = true;  ///< whether the model decides between classes (ImportOptions); false with a tolerance
  /// For a model with one output number: class 1 is predicted above this value; by default 0 for scores, 0.5 for probabilities.
  std::optional<double> threshold{};
  std::vector<std::int64_t> outputs = {};  ///< positions of those output values that stand for classes; empty: all
  std::int64_t data_classes = 0;           ///< largest label + 1, which helps to choose the output; 0: unknown
  /// For a regression model: a prediction survives if every output changes by less than this (estimators/tolerance.h). One number
  /// for all outputs, or one per output; empty for classifiers.
  std::vector<double> tolerance{};
  std::string device = "cpu";         ///< one of devices() (exec/devices.h), or "auto"
  ExecutorOptions execution = {};     ///< threads and memory
  ExternalFiles external_files = {};  ///< reads weights that the model stores in other files
};

struct EstimateOptions {
  std::vector<std::int64_t> targets = {};  ///< [N] target classes; empty: the predicted ones
  std::uint64_t seed = 0;                  ///< seed of the noise
  std::int64_t first_index = 0;            ///< position of the first point in the data; the noise depends on it
  NoiseSource noise_source = {};           ///< reads the files named in noise texts
  /// [N] classes, -1 for a point without one; or empty. With labels, rows have p_label.
  std::vector<std::int64_t> labels = {};
};

struct PGradientOptions {
  std::vector<std::int64_t> targets = {};  ///< [N] target classes; empty: those of `target`
  std::string target = "predicted";        ///< as in targets_of (run/request.h)
  std::vector<std::int64_t> labels = {};   ///< [N] for the target "label"
  std::uint64_t seed = 0;                  ///< seed of the noise
  std::int64_t first_index = 0;            ///< position of the first point in the data; the noise depends on it
  NoiseSource noise_source = {};           ///< reads the files named in noise texts
};

/// Collects the warnings of a device (ExecutorOptions::warn), from any thread.
class DeviceWarnings {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(spelled(text, as_field));
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(texts_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

/// A loaded model. It is a handle to weights and threads: it can be moved, and its calls must not overlap. All calls throw Error.
/// x is [N, ...], or one point, in the units of the data.
class LoadedModel {
 public:
  /// Does not keep the graph of `model`. If `executor` runs a regression model with a tolerance as a classifier
  /// (within_tolerance), `regression` runs the regression model itself.
  LoadedModel(Model model, std::unique_ptr<Executor> executor, Preprocessing preprocessing = {},
              std::shared_ptr<DeviceWarnings> warnings = std::make_shared<DeviceWarnings>(),
              std::unique_ptr<Executor> regression = nullptr);

  /// The number of classes. With a tolerance and K outputs, there are 2 K + 1 (estimators/tolerance.h); the last one is "all
  /// outputs are within the tolerance".
  std::int64_t classes() const { return executor_->classes(); }
  /// The shape of one point of the data.
  const Shape& point_shape() const { return regression_ ? regression_->point_shape() : executor_->point_shape(); }
  /// What import found: inputs, outputs, operators, decision rule and notes, but not the graph. Empty for a classifier
  /// given by functions.
  const Model& imported() const { return model_; }
  /// The regression model whose predictions must stay within the tolerance; null for a classifier.
  Executor* regression() const { return regression_.get(); }

  /// The number of outputs of logits() per point: C, or K of a regression model.
  std::int64_t outputs() const { return regression_ ? regression_->classes() : classes(); }
  /// The logits [N, C] or, for a regression model, its outputs [N, K].
  Tensor logits(const Tensor& x);

  /// [N, C - 1] margins f_t - f_i over the rivals i of the target t, in order. Targets are [N]; empty: the predicted classes.
  Tensor margins(const Tensor& x, const std::vector<std::int64_t>& targets = {});

  /// The probability that each point keeps its target under the noise: one row per point, noise and estimator, in this order.
  /// Noise is written like "gaussian:0.1" (parse_noise), estimators like "auto:100" (parse_estimator). If one of several
  /// estimators does not support the model, the status of its rows gives the reason.
  std::vector<Row> estimate(const Tensor& x, const std::vector<std::string>& noises,
                            const std::vector<std::string>& estimators = {"auto"}, const EstimateOptions& options = {});

  /// The gradients of p with respect to each point (estimators/gradient/gradient_of_p.h).
  GradientOfP p_gradient(const Tensor& x, const std::string& noise, const std::string& estimator = "taylor",
                         const PGradientOptions& options = {});
  GradientOfP p_gradient(const Tensor& x, Noise noise, const EstimatorSpec& estimator, const PGradientOptions& options = {});

  /// Checks whether the points, the preprocessing and the labels [N] (may be empty) suit the model; `sigmas` are noise scales,
  /// which are compared with the data's range.
  CheckReport check(const Tensor& x, const std::vector<std::int64_t>& labels = {}, const std::vector<double>& sigmas = {});

  /// A shorter check, the first step of an estimate (check/of_model.h). `points` is the number of points in the data if
  /// the request has only some of them, otherwise 0.
  CheckReport first_check(const EstimateRequest& request, std::int64_t points = 0);

  /// Adds the findings of the check before an estimate to the note of every row, and returns the warnings. The check does not
  /// run the model on points without labels; if all of them, 20 or more, get the same prediction, a warning is added here.
  std::vector<std::string> attach_check(CheckReport report, bool labelled, std::vector<Row>& rows) const;

  /// `estimate` as a Job (base/job.h), in steps: call run.step(milliseconds) until it returns true, then take
  /// run.rows(). The model must outlive the run.
  EstimateRun start_estimate(const Tensor& x, const std::vector<std::string>& noises,
                             const std::vector<std::string>& estimators = {"auto"}, const EstimateOptions& options = {});
  EstimateRun start_estimate(EstimateRequest request);

  /// The model in the form that the check needs. `of` is the executor to run it with: the model's own or one that wraps it.
  CheckedModel checked(Executor& of) const;

  /// Warnings of the device since the last call, for example that results are rounded or that the CPU is used instead.
  /// Empty if ExecutorOptions::warn was given.
  std::vector<std::string> take_warnings() { return warnings_->take(); }

  /// Passes done so far; set `stop`, from any thread or a signal handler, to end the running call or job with
  /// Error{interrupted}.
  Progress& progress() { return executor_->progress; }

  /// Access to the executor, for calls that this class lacks.
  Executor& executor() { return *executor_; }
  const Executor& executor() const { return *executor_; }

 private:
  Tensor batched(const Tensor& x) const;
  Model model_;
  std::unique_ptr<Executor> executor_;
  Preprocessing preprocessing_;
  std::shared_ptr<DeviceWarnings> warnings_;
  std::unique_ptr<Executor> regression_;
};

/// Imports an ONNX model and compiles it. Throws Error: unreadable (not a model, or damaged), unsupported (names the operator and
/// node), usage (options that do not fit the model), resources (one example does not fit in memory).
LoadedModel load_model(std::span<const std::byte> bytes, const LoadOptions& options = {});

/// The default shape of one point of the data: that of the model's input without the batch axis.
Shape point_shape_of(const Model& model);

/// The two steps of load_model.
Model import_model(std::span<const std::byte> bytes, const LoadOptions& options);
LoadedModel compile_model(Model model, const LoadOptions& options);

/// A classifier given by functions, for points of this shape. A call gets as many points as fit in memory, but at most
/// `execution.batch`; by default, at most 8192 points, and at most 64 MB in total. Results do not depend on this. Throws
/// Error{usage} if the shape has no elements or there are fewer than two classes.
LoadedModel model_from_function(ClassifierFunctions functions, Shape point_shape, std::int64_t classes,
                                const ExecutorOptions& execution = {});

}  // namespace probust
