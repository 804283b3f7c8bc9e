// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probust/base/error.h"
#include "probust/base/job.h"
#include "probust/exec/margins.h"
#include "probust/exec/points.h"
#include "probust/exec/precision.h"
#include "probust/exec/program.h"
#include "probust/graph/graph.h"
#include "probust/noise/noise.h"

namespace probust {

namespace normal {
class ProblemSolver;
}

/// What is linearised: the classifier at the point, or its mean under the noise by moment propagation (moments/moments.h), which
/// is accurate at the scale of the noise.
enum class Around { point, noise };

/// linearize_averaged as a job, because a point may have very many copies. Its executor must outlive it. It counts the copies of
/// one point.
class Averages : public Job {
 public:
  /// The result of linearize_averaged, once it is finished.
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

struct ExecutorOptions {
  int threads = 1;
  /// Bytes for activations, gradients and the algebra of estimators, all threads together. 0: what suits the device, which is
  /// kProcessorMemory on the processor and most of what is free on a GPU.
  std::int64_t memory = 0;
  std::int64_t batch = 0;         ///< lanes per run; 0: chosen by memory and model
  bool verify = false;            ///< for tests: see Workspace::verify
  bool weights_included = false;  ///< whether `memory` includes the weights
  Precision precision = Precision::float32;
  std::function<void(const std::string&)> warn{};  ///< told what runs slower or elsewhere than it could; empty: nobody is
};
inline constexpr std::int64_t kProcessorMemory = std::int64_t{2} << 30;

/// What an executor has done, and a way to stop it.
struct Progress {
  std::atomic<std::int64_t> passes{0};  ///< forward and backward passes done so far
  StopToken stop{false};                ///< if set, the running call ends with Error{interrupted}
  double pace = 0;                      ///< milliseconds per row of logits, as the last job measured it; 0 if unknown
};

/// Runs one classifier on one device. Calls are coarse: noise, counting and Gram matrices stay on the device. No result depends
/// on threads, memory or chunking. Owns the memory of its threads and its device.
class Executor {
 public:
  /// `shared`, if given, is the progress of the executor that this one works for, and must outlive it.
  explicit Executor(Progress* shared = nullptr) : progress(shared != nullptr ? *shared : own_progress_) {}
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  virtual std::string_view name() const = 0;
  virtual std::int64_t classes() const = 0;
  virtual const Shape& point_shape() const = 0;
  /// True if the classifier's derivative is zero almost everywhere, for any weights: then gradients are useless.
  virtual bool piecewise_constant() { return false; }
  /// Whether points may have NaN for values that are missing, as trees and imputers take them: their logits are finite then.
  virtual bool handles_missing() { return false; }
  /// Whether gradients are available. If not, estimators that need them are refused (require_answerable), and those that can do
  /// without do so.
  virtual bool differentiable() const { return true; }
  /// The batch per run of forwards and of gradient sweeps.
  virtual Batch forward_batch() const = 0;
  virtual Batch gradient_batch() const = 0;
  /// Backward passes per linearization: one per margin, or fewer if the last layer is linear with few inputs.
  virtual std::int64_t backwards_to_linearize() const { return classes() - 1; }
  /// Callers that keep margins or noise use `memory` to decide how many points to request at once.
  virtual const ExecutorOptions& options() const = 0;

  /// [N, C] for x [N, ...].
  virtual Result<Tensor> logits(const Tensor& x) = 0;

  /// Calls `take(i, jacobian)` for each point in order, with the Jacobian of the logits [C, d], row-major.
  virtual Result<std::monostate> jacobian(const Tensor& x,
                                          const std::function<void(std::int64_t, std::span<const float>)>& take) = 0;

  /// At x. Costs one forward and m backwards per point.
  virtual Result<std::vector<Linearization>> linearize(const Points& points, const NoiseShape& shape) = 0;

  /// The classifier's mean under the noise, by Gaussian moment propagation (moments/moments.h), and its gradient at x: a
  /// linearization that is accurate at the scale of the noise. Costs about two forwards and 2 m backwards per point.
  /// Error{unsupported} if an operator has no moment rule.
  virtual Result<std::vector<Linearization>> linearize_smoothed(const Points& points, const Noise& noise) = 0;

  /// The moments of the logits under the noise, by propagation as above. Costs about three forwards per point. Error{unsupported}
  /// if an operator has no moment rule, or the noise differs from point to point.
  virtual Result<std::vector<LogitMoments>> moments(const Points& points, const Noise& noise) = 0;

  /// Margins and their gradients averaged over `samples` noisy copies. Costs `samples` forwards and m times as many backwards.
  virtual Result<std::vector<Linearization>> linearize_averaged(const Points& points, const Noise& noise,
                                                                std::int64_t samples) = 0;

  /// The same as a job. It keeps the gradients of all points until it is finished, so pass few points. By default it is not
  /// divided: its first step does everything.
  virtual Result<std::unique_ptr<Averages>> averages(const Points& points, const Noise& noise, std::int64_t samples);

  /// How often each class wins among the noisy copies first .. first + samples - 1: [N][C] counts; a copy with a NaN logit counts
  /// for no class.
  virtual Result<std::vector<std::vector<std::int64_t>>> sample(const Points& points, const Noise& noise, std::int64_t samples,
                                                                std::int64_t first = 0) = 0;

  /// The margins of pairs first .. first + count - 1 of noisy copies of each point. Additive noise (noise.h) is drawn once per
  /// pair. If points share draws, and the classifier begins with an affine layer that is a good part of the work, its product
  /// with a draw is computed once for all of them.
  virtual Result<std::vector<Pairs>> pairs(const Points& points, const Noise& noise, std::int64_t count,
                                           std::int64_t first = 0) = 0;

  /// Projects the noise of pairs 0 .. count - 1 on the gradients of the margins over `rivals` [N][k] (classes, not rows; k is the
  /// same for every point), and computes the margins of pairs `known` .. count - 1. Costs 2 (count - known) forwards per point,
  /// plus one forward and k backwards with Around::point, or about twice that with Around::noise. Error{unsupported} if an
  /// operator has no moment rule and `around` is noise.
  virtual Result<std::vector<Projection>> project(const Points& points, const std::vector<std::vector<std::int64_t>>& rivals,
                                                  const Noise& noise, std::int64_t count, std::int64_t known, Around around) = 0;

  /// Runs one batch of `points` (at most forward_batch() or gradient_batch()) on one thread, with the forward or the gradient
  /// program. Returns the time per kind of step, longest first; empty if the executor cannot tell.
  virtual Result<std::vector<KindTime>> profile(const Points& points, bool gradients);

  /// Frees memory of earlier calls that is kept for reuse.
  virtual void release() {}

  /// Solves normal probabilities on the device (normal/batch.h); null: the caller does, on the processor.
  virtual normal::ProblemSolver* normal_solver() { return nullptr; }

  Progress& progress;

 private:
  Progress own_progress_;
};

/// Throws Error unless x has one row of the model's shape per index and target, and every target exists.
void check(const Executor& executor, const Points& points);

/// The names of the backends compiled in, best first.
std::vector<std::string_view> backends();

/// Compiles a classifier (one input, one output [C]) for a device: one of backends(), of another kind (devices.h), or "auto",
/// which is a GPU if there is one. Error{usage} for an unknown name or a precision that the device does not have,
/// Error{resources} for a device that is not present, or if a single example does not fit the memory.
Result<std::unique_ptr<Executor>> make_executor(std::string_view device, const Graph& classifier, const ExecutorOptions& options);

/// An executor for a classifier without a graph, such as one that runs elsewhere (exec/external_engine.h), of points of shape
/// `point`. It is differentiable if there is a program for its gradients, whose inputs and outputs are those of gradient_graph.
/// Uses options.batch examples per run.
std::unique_ptr<Executor> make_forward_executor(std::string_view name, std::unique_ptr<Program> forward, Shape point,
                                                std::int64_t classes, const ExecutorOptions& options,
                                                std::unique_ptr<Program> gradient = nullptr);

}  // namespace probust
