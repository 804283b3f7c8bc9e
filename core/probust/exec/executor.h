// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "probust/base/error.h"
#include "probust/base/job.h"
#include "probust/exec/facts.h"
#include "probust/exec/programs/program.h"
#include "probust/exec/question.h"
#include "probust/graph/graph.h"

namespace probust {

namespace normal {
class ProblemSolver;
}

/// LinearizeAveraged as a job, because a point may have very many noisy samples. Counts progress in samples per point. The
/// executor must outlive the job.
class AverageJob : public Job {
 public:
  /// The result, once the job is finished.
  virtual std::vector<Linearization> value() const = 0;

 protected:
  using Job::Job;
};

/// The total time of the steps of one kind in a run.
struct KindTime {
  std::string kind;  ///< as in ProgramStep
  std::int64_t steps = 0;
  double seconds = 0, flops = 0;
};

/// The progress of an executor, and a way to stop it.
struct Progress {
  std::atomic<std::int64_t> passes{0};  ///< forward and backward passes done so far
  StopToken stop{false};                ///< if set, the running call ends with Error{interrupted}
  double pace = 0;                      ///< milliseconds per row of logits, measured by the last job; 0 if unknown
};

/// Runs one classifier on one device. Questions are coarse-grained, so that noise, counts and Gram matrices stay on the
/// device. No answer depends on threads, memory or chunking. Owns the memory of its threads and its device.
///
/// All virtual functions are pure, so that a forwarding executor (forwarding_executor.h) cannot omit one by mistake;
/// answer_by_type (question.h) makes sure that an executor handles every question.
class Executor {
 public:
  /// `shared`, if given, is the progress of the executor for which this one works; it must outlive this executor.
  explicit Executor(Progress* shared = nullptr) : progress(shared != nullptr ? *shared : own_progress_) {}
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  virtual const ExecutorFacts& facts() const = 0;
  /// Whether the classifier's derivative is zero almost everywhere for any weights. Gradients are then useless.
  virtual bool piecewise_constant() = 0;
  /// The batch that the last gradient sweep chose.
  virtual Batch gradient_batch() const = 0;

  virtual Result<ExecutorAnswer> answer(const ExecutorQuestion& question) = 0;

  /// LinearizeAveraged as a job. The gradients of all points stay in memory until the job is finished, so pass few points.
  virtual Result<std::unique_ptr<AverageJob>> averages(const Points& points, const Noise& noise, std::int64_t samples) = 0;

  /// Runs one batch of `points` (at most forward_batch() or gradient_batch()) on one thread, with the forward or the gradient
  /// program. Returns the time per kind of step, longest first; empty if the executor cannot measure it.
  virtual Result<std::vector<KindTime>> profile(const Points& points, bool gradients) = 0;

  /// Frees the memory that is kept for reuse.
  virtual void release() = 0;

  /// The executor of f(T(x, z)) on the same device, for the map T and points [x, z] in one row. It lives as long as this
  /// executor. Null if this executor cannot create it. Error as in make_executor.
  virtual Result<Executor*> after(const std::shared_ptr<const NoiseMap>& map) = 0;

  /// Solves normal probabilities on the device (normal/batch.h). Null if the caller must solve them on the CPU.
  virtual normal::ProblemSolver* normal_solver() = 0;

  // ---- facts

  std::string_view name() const { return facts().name; }
  std::int64_t classes() const { return facts().classes; }
  const Shape& point_shape() const { return facts().point_shape; }
  bool handles_missing() const { return facts().handles_missing; }
  bool differentiable() const { return facts().differentiable; }
  Batch forward_batch() const { return facts().forward_batch; }
  std::int64_t backwards_to_linearize() const { return facts().backwards_to_linearize; }
  const ExecutorOptions& options() const { return facts().options; }

  // ---- the questions (question.h), one call for each

  Result<Tensor> logits(const Tensor& x);
  Result<std::monostate> jacobian(const Tensor& x, const JacobianAt::Take& take);
  Result<std::vector<Linearization>> linearize(const Points& points, const NoiseShape& shape);
  Result<std::vector<Linearization>> linearize_smoothed(const Points& points, const Noise& noise);
  Result<std::vector<Linearization>> linearize_averaged(const Points& points, const Noise& noise, std::int64_t samples);
  Result<std::vector<LogitMoments>> moments(const Points& points, const Noise& noise);
  Result<PredictionCounts> sample(const Points& points, const Noise& noise, std::int64_t samples, std::int64_t first = 0);
  Result<std::vector<Pairs>> pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first = 0);
  Result<std::vector<Projection>> project(const Points& points, const std::vector<std::vector<std::int64_t>>& rivals,
                                          const Noise& noise, std::int64_t count, std::int64_t known, LinearizeAt at);

  Progress& progress;

 private:
  Progress own_progress_;
};

/// An AverageJob whose first step does all the work, for executors that cannot divide the work. `executor` must outlive the
/// job.
std::unique_ptr<AverageJob> averages_at_once(Executor& executor, const Points& points, const Noise& noise, std::int64_t samples);

/// Throws Error unless x has one row, of the model's shape, per index and target, and all targets are classes of the model.
void check(const Executor& executor, const Points& points);

/// The names of the CPU backends, fastest first.
std::vector<std::string_view> backends();

/// Compiles a classifier (one input, one output [C]) for a device: one of backends(), a device of a registered kind
/// (devices.h), or "auto", which is a GPU if there is one. Error{usage} for an unknown name or a precision that the device does
/// not support; Error{resources} if the device is not present or a single example does not fit into its memory.
Result<std::unique_ptr<Executor>> make_executor(std::string_view device, const Graph& classifier, const ExecutorOptions& options);

/// An executor for a classifier without a graph, such as one that runs elsewhere (exec/programs/external_engine.h), for points
/// of shape `point`. It is differentiable if there is a program for its gradients, with the inputs and outputs of
/// gradient_graph. Runs options.batch examples at a time.
std::unique_ptr<Executor> make_forward_executor(std::string_view name, std::unique_ptr<Program> forward, const Shape& point,
                                                std::int64_t classes, const ExecutorOptions& options,
                                                std::unique_ptr<Program> gradient = nullptr);

}  // namespace probust
