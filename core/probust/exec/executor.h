// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probust/base/error.h"
#include "probust/base/tensor.h"
#include "probust/exec/program.h"
#include "probust/graph/graph.h"
#include "probust/noise/noise.h"
#include "probust/normal/batch.h"

namespace probust {

/// Points to evaluate a classifier at, with the keys of their noise.
struct Points {
  Tensor x;                          ///< [N, ...] in the natural space
  std::vector<std::int64_t> index;   ///< [N] position in the data: part of the noise's key
  std::vector<std::int64_t> target;  ///< [N] the class t that has to survive
  std::uint64_t seed = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(index.size()); }
};

/// Points first .. first + count - 1. Throws Error{usage} if x, index and target differ in length.
Points slice(const Points& points, std::int64_t first, std::int64_t count);

/// The points at positions `which`, in that order. Throws as slice does.
Points select(const Points& points, std::span<const std::int64_t> which);

/// With more rivals than this, executors may compute margin gradients from the gradients of the last layer's inputs.
inline constexpr std::int64_t kManyRivals = 256;

/// A linear last layer with inputs h: f = W h + b.
struct LastLayer {
  Eigen::MatrixXf weights;  ///< W [C, w]
  Eigen::VectorXf bias;     ///< b [C]
};

/// A classifier linearised around a point: all that a probability is computed from. Rivals are the classes other than the
/// target, in order; m = C - 1. Use `variances` and `covariance` rather than `gram`, which has another meaning if `last` is set.
struct Linearization {
  Eigen::VectorXd margins;  ///< [m] g_i = f_t - f_i
  /// [m, m] U C Uᵀ with the margin gradients u_i as rows of U and the noise covariance C at unit scale. If `last` is set: [w, w],
  /// the same for the gradients of the last layer's inputs.
  Eigen::MatrixXd gram;
  /// [m, samples] For each noisy copy: its margins g_j, and its noise eps_j along the averaged gradients (U eps_j) and along its
  /// own gradients (U_j eps_j). Empty if nothing was sampled.
  Eigen::MatrixXd sampled, along_mean, along_own;
  /// If set, the gradient of margin i is (W_t - W_i) H, with the gradients of the last layer's inputs as rows of H.
  std::shared_ptr<const LastLayer> last;
  std::int64_t target = 0;           ///< t, if `last` is set
  Eigen::VectorXd margin_variances;  ///< [m] u_i C u_iᵀ at unit scale, if `last` is set

  std::int64_t rivals() const { return margins.size(); }
  /// [m] u_i C u_iᵀ, with the noise covariance C at unit scale.
  Eigen::VectorXd variances() const { return last ? margin_variances : Eigen::VectorXd(gram.diagonal()); }
  /// [k, k] U C Uᵀ at unit scale for the margins `rows`.
  Eigen::MatrixXd covariance(std::span<const std::int64_t> rows) const;
};

/// The rival class of a row of margins of `target`.
inline std::int64_t rival_of(std::int64_t row, std::int64_t target) { return row < target ? row : row + 1; }

/// What is linearised: the classifier at the point, or its mean under the noise by moment propagation (moments/moments.h), which
/// is accurate at the scale of the noise.
enum class Around { point, noise };

/// Margins of antithetic pairs of copies of one point: column j of `plus` is at x + eps_j, of `minus` at x - eps_j. If the noise
/// cannot be mirrored, a pair is two independent copies. Either way, a margin's variance is that of the pair's mean plus the mean
/// square of half the pair's difference.
struct Pairs {
  Eigen::MatrixXd plus, minus;  ///< [m, h], NaN if the copy's logits are NaN

  std::int64_t rivals() const { return plus.rows(); }
  std::int64_t size() const { return plus.cols(); }
};

/// The noise of copies projected on the gradients of a few margins: how much it would move the margins of a linear model.
struct Projection {
  Eigen::VectorXd margins;  ///< [m] of what was linearised, for every rival
  Eigen::MatrixXd gram;     ///< [k, k] U C Uᵀ at unit noise scale, with the gradients of the chosen margins as rows of U
  Eigen::MatrixXd along;    ///< [k, h] U eps_j for the noise of the first copy of each pair, in the units of the margins
  Pairs pairs;              ///< the margins of the same pairs, except those that the caller already has
};

/// Margins and their gradients averaged over noisy copies of some points, in instalments, for callers that cannot wait for all
/// copies. Unusable after an Error. Its executor must outlive it.
class Averages {
 public:
  virtual ~Averages() = default;

  /// Adds copies until every point has `count`, or a few more, because batches are not split.
  virtual Result<std::monostate> reach(std::int64_t count) = 0;

  /// The result of linearize_averaged, whatever the instalments were. Adds the missing copies first.
  virtual Result<std::vector<Linearization>> value() = 0;
};

/// The total time of the steps of one kind in a run.
struct KindTime {
  std::string kind;  ///< as in ProgramStep
  std::int64_t steps = 0;
  double seconds = 0, flops = 0;
};

struct ExecutorOptions {
  int threads = 1;
  /// Bytes for activations, gradients and the algebra of estimators, all threads together.
  std::int64_t memory = std::int64_t{2} << 30;
  std::int64_t batch = 0;         ///< lanes per run; 0: chosen by memory and model
  bool verify = false;            ///< for tests: see Workspace::verify
  bool weights_included = false;  ///< whether `memory` includes the weights
};

/// The progress of a call, and a way to stop it from another thread or a signal handler.
struct Progress {
  std::atomic<std::int64_t> passes{0};  ///< forward and backward passes done so far
  std::atomic<bool> stop{false};        ///< if set, the running call ends with Error{interrupted}
};

/// Runs one classifier on one device. Calls are coarse: noise, counting and Gram matrices stay on the device. No result depends
/// on threads, memory or chunking. Owns the memory of its threads and its device.
class Executor {
 public:
  virtual ~Executor() = default;

  virtual std::string_view name() const = 0;
  virtual std::int64_t classes() const = 0;
  virtual const Shape& point_shape() const = 0;
  /// True if the classifier's derivative is zero almost everywhere, for any weights: then gradients are useless.
  virtual bool piecewise_constant() { return false; }
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

  /// Margins and their gradients averaged over `samples` noisy copies. Costs `samples` forwards and m times as many backwards.
  virtual Result<std::vector<Linearization>> linearize_averaged(const Points& points, const Noise& noise,
                                                                std::int64_t samples) = 0;

  /// The same in instalments. Keeps the gradients of all points until it is done, so pass few points. By default the first
  /// instalment does everything.
  virtual Result<std::unique_ptr<Averages>> averages(const Points& points, const Noise& noise, std::int64_t samples);

  /// How often each class wins among the noisy copies first .. first + samples - 1: [N][C] counts; a copy with a NaN logit counts
  /// for no class.
  virtual Result<std::vector<std::vector<std::int64_t>>> sample(const Points& points, const Noise& noise, std::int64_t samples,
                                                                std::int64_t first = 0) = 0;

  /// The margins of pairs first .. first + count - 1 of noisy copies of each point. Additive noise (noise.h) is drawn once per
  /// pair.
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

  /// Phi_R(z) of many problems, each as from normal::mvn_cdf. A device may use another method; its answers then agree within the
  /// errors that both report. After a stop request, answers may have the status `interrupted`.
  virtual std::vector<normal::Probability> normal_probabilities(std::span<const normal::Problem> problems);

  Progress progress;
};

/// Throws Error unless x has one row of the model's shape per index and target, and every target exists.
void check(const Executor& executor, const Points& points);

/// The index of the largest logit, the lowest one on a tie; -1 if any is NaN.
std::int64_t argmax(std::span<const float> logits);

/// Margins f_t - f_i of logits [C], `stride` apart, over the rivals i of the target t in order: [C - 1].
void store_margins(const float* logits, std::int64_t stride, std::int64_t target, Eigen::Ref<Eigen::VectorXd> margins);
Eigen::VectorXd margins_of(std::span<const float> logits, std::int64_t target);

/// The backends compiled in, best first.
std::span<const std::string_view> backends();

/// Compiles a classifier (one input, one output [C]) for a backend ("cpu" or "reference").
/// Error{usage} for an unknown backend, Error{resources} if a single example does not fit the memory.
Result<std::unique_ptr<Executor>> make_executor(std::string_view backend, const Graph& classifier,
                                                const ExecutorOptions& options);

/// An executor for a classifier that only gives logits, such as one that runs elsewhere (exec/external_engine.h), of points of
/// shape `point`. It is not differentiable. Uses options.batch lanes per run.
std::unique_ptr<Executor> make_forward_executor(std::string_view name, std::unique_ptr<Program> forward, Shape point,
                                                std::int64_t classes, const ExecutorOptions& options);

}  // namespace probust
