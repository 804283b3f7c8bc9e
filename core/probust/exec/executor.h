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

/// Points at which a classifier is asked, with what keys their noise.
struct Points {
  Tensor x;                          ///< [N, ...] in the natural space
  std::vector<std::int64_t> index;   ///< [N] position in the data: part of the noise's key
  std::vector<std::int64_t> target;  ///< [N] the class t whose survival is asked for
  std::uint64_t seed = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(index.size()); }
};

/// Points first .. first + count - 1. Throws Error{usage} where x, index and target differ in length.
Points slice(const Points& points, std::int64_t first, std::int64_t count);

/// The points at positions `which`, in that order. Throws as slice does.
Points select(const Points& points, std::span<const std::int64_t> which);

/// With more rivals than this, executors may express margin gradients through the gradients of the last layer's inputs.
inline constexpr std::int64_t kManyRivals = 256;

/// A linear last layer, whose inputs are h: f = W h + b.
struct LastLayer {
  Eigen::MatrixXf weights;  ///< W [C, w]
  Eigen::VectorXf bias;     ///< b [C]
};

/// A classifier seen as linear around a point: the narrow waist between networks and probabilities. Rivals are the classes
/// other than the target, in order; m = C - 1. Ask `variances` and `covariance` for the margins' gradients.
struct Linearization {
  Eigen::VectorXd margins;  ///< [m] g_i = f_t - f_i
  /// [m, m] U C Uᵀ at unit noise scale, with the margin gradients u_i as rows of U; [w, w] of the gradients of the last layer's
  /// inputs where `last` is given.
  Eigen::MatrixXd gram;
  /// [m, samples] for each noisy copy its margins g_j, and the noise eps_j along the averaged gradients and along its own: U
  /// eps_j and U_j eps_j. Empty where nothing was sampled.
  Eigen::MatrixXd sampled, along_mean, along_own;
  /// Where it is given, margin i has the gradient (W_t - W_i) H, with the gradients that `gram` is made of as rows of H.
  std::shared_ptr<const LastLayer> last;
  std::int64_t target = 0;           ///< t, where `last` is given
  Eigen::VectorXd margin_variances;  ///< [m] |u_i|² by the noise's covariance, where `last` is given

  std::int64_t rivals() const { return margins.size(); }
  /// |u_i|² by the noise's covariance, at unit scale: [m].
  Eigen::VectorXd variances() const { return last ? margin_variances : Eigen::VectorXd(gram.diagonal()); }
  /// U C Uᵀ at unit scale of the margins `rows`: [k, k].
  Eigen::MatrixXd covariance(std::span<const std::int64_t> rows) const;
};

/// The class that a row of the margins of `target` is about.
inline std::int64_t rival_of(std::int64_t row, std::int64_t target) { return row < target ? row : row + 1; }

/// What a classifier is linearised as: itself at the point, or its mean under the noise, by moment propagation
/// (moments/moments.h), which is faithful at the noise's scale.
enum class Around { point, noise };

/// Margins of pairs of copies of one point: column j of `plus` is at x + eps_j, of `minus` at x - eps_j. Where the noise cannot
/// be mirrored a pair is two copies of their own: half the variance of margins is in the sums of pairs, half in their
/// differences, either way.
struct Pairs {
  Eigen::MatrixXd plus, minus;  ///< [m, h], NaN where a copy's logits are

  std::int64_t rivals() const { return plus.rows(); }
  std::int64_t size() const { return plus.cols(); }
};

/// Noisy copies seen along the gradients of a few margins: what a model that is linear would feel of the noise.
struct Projection {
  Eigen::VectorXd margins;  ///< [m] of what was linearised, for every rival
  Eigen::MatrixXd gram;     ///< [k, k] U C Uᵀ at unit noise scale, for the chosen margins' gradients as rows of U
  Eigen::MatrixXd along;    ///< [k, h] U eps_j for the noise of the first copy of each pair, in the units of the margins
  Pairs pairs;              ///< the margins of the same pairs, but for those that the caller knows
};

/// Margins and their gradients averaged over noisy copies of some points, in instalments, for callers that cannot wait for all
/// copies. An Error ends it. Its executor must outlive it.
class Averages {
 public:
  virtual ~Averages() = default;

  /// Goes on until `count` copies of every point are in, or a few more: as many as are best taken at once.
  virtual Result<std::monostate> reach(std::int64_t count) = 0;

  /// What linearize_averaged says, wherever instalments ended; the copies that are missing come first.
  virtual Result<std::vector<Linearization>> value() = 0;
};

/// What steps of one kind took together in a run.
struct KindTime {
  std::string kind;  ///< as in ProgramStep
  std::int64_t steps = 0;
  double seconds = 0, flops = 0;
};

struct ExecutorOptions {
  int threads = 1;
  /// Bytes that activations, gradients and the algebra of estimators may take, all threads together.
  std::int64_t memory = std::int64_t{2} << 30;
  std::int64_t batch = 0;         ///< lanes per run; 0: chosen from the memory and the model
  bool verify = false;            ///< for tests: see Workspace::verify
  bool weights_included = false;  ///< whether `memory` has to hold the weights, too
};

/// What a caller may watch and stop from another thread or a signal handler.
struct Progress {
  std::atomic<std::int64_t> passes{0};  ///< forward and backward passes done so far
  std::atomic<bool> stop{false};        ///< set it and the running call ends with Error{usage, "interrupted"}
};

/// Runs one classifier on one device. The calls are coarse: noise, counting and Gram matrices stay with the device, and no
/// result depends on threads, memory or chunking. A handle: it owns threads' and devices' memory.
class Executor {
 public:
  virtual ~Executor() = default;

  virtual std::string_view name() const = 0;
  virtual std::int64_t classes() const = 0;
  virtual const Shape& point_shape() const = 0;
  /// True where the classifier's derivative is zero almost everywhere, whatever its weights: then gradients say nothing.
  virtual bool piecewise_constant() { return false; }
  /// Whether it has gradients at all. Where it has none, estimators that need them are refused (require_answerable), and those
  /// that would like some do without.
  virtual bool differentiable() const { return true; }
  /// Lanes per run that forwards and gradient sweeps use.
  virtual Batch forward_batch() const = 0;
  virtual Batch gradient_batch() const = 0;
  /// Backward passes that a linearization takes: one a margin, or fewer where the last layer is linear and its inputs are few.
  virtual std::int64_t backwards_to_linearize() const { return classes() - 1; }
  /// What it was made with: callers that keep margins or noise ask for as many points at once as fit the memory.
  virtual const ExecutorOptions& options() const = 0;

  /// [N, C] for x [N, ...].
  virtual Result<Tensor> logits(const Tensor& x) = 0;

  /// Calls `take(i, jacobian)` for each point in order, with the Jacobian of the logits [C, d], row-major.
  virtual Result<std::monostate> jacobian(const Tensor& x,
                                          const std::function<void(std::int64_t, std::span<const float>)>& take) = 0;

  /// At x: one forward and m backwards per point.
  virtual Result<std::vector<Linearization>> linearize(const Points& points, const NoiseShape& shape) = 0;

  /// The classifier's mean under the noise, by Gaussian moment propagation (moments/moments.h), and its gradient at x: a
  /// linearization that is faithful at the noise's scale. Twice a forward and 2 m backwards per point, roughly.
  /// Error{unsupported} where an operator has no rule for moments.
  virtual Result<std::vector<Linearization>> linearize_smoothed(const Points& points, const Noise& noise) = 0;

  /// Margins and their gradients averaged over `samples` noisy copies: that many forwards and m times that many backwards.
  virtual Result<std::vector<Linearization>> linearize_averaged(const Points& points, const Noise& noise,
                                                                std::int64_t samples) = 0;

  /// The same in instalments. All points' gradients are kept meanwhile: ask for few. Unless an executor does otherwise, its
  /// first instalment is all of it.
  virtual Result<std::unique_ptr<Averages>> averages(const Points& points, const Noise& noise, std::int64_t samples);

  /// How often each class wins among the noisy copies first .. first + samples - 1: [N][C] counts; a copy with a NaN logit counts
  /// for no class.
  virtual Result<std::vector<std::vector<std::int64_t>>> sample(const Points& points, const Noise& noise, std::int64_t samples,
                                                                std::int64_t first = 0) = 0;

  /// The margins of pairs first .. first + count - 1 of noisy copies of each point. A pair's noise is drawn once where it is
  /// additive (noise.h).
  virtual Result<std::vector<Pairs>> pairs(const Points& points, const Noise& noise, std::int64_t count,
                                           std::int64_t first = 0) = 0;

  /// Pairs 0 .. count - 1 seen along the gradients of the margins over `rivals` [N][k] (classes, not rows; as many for every
  /// point), and the margins of those from `known` on: one forward and k backwards per point around the point, roughly twice
  /// that around the noise, where an operator without a rule for moments is Error{unsupported}, and 2 (count - known) forwards.
  virtual Result<std::vector<Projection>> project(const Points& points, const std::vector<std::vector<std::int64_t>>& rivals,
                                                  const Noise& noise, std::int64_t count, std::int64_t known, Around around) = 0;

  /// Runs a batch at `points` (forward_batch() or gradient_batch() of them, or fewer) on one thread, by the forward program or
  /// the one that gives gradients, and says where the time went, by the kind of step, longest first. Nothing where an executor
  /// cannot tell.
  virtual Result<std::vector<KindTime>> profile(const Points& points, bool gradients);

  /// Phi_R(z) of many problems, each as normal::mvn_cdf gives it. A device may take another way: then the answers agree within
  /// the errors that both report. Once it is stopped, answers may have the status `interrupted`.
  virtual std::vector<normal::Probability> normal_probabilities(std::span<const normal::Problem> problems);

  Progress progress;
};

/// What every door asks of points: as many rows of the model's shape as indices and targets, and targets that exist. Throws
/// Error.
void check(const Executor& executor, const Points& points);

/// The index of the largest logit, the lowest one on a tie; -1 where any is NaN.
std::int64_t argmax(std::span<const float> logits);

/// Margins f_t - f_i of logits [C], `stride` apart, over the rivals i of the target t in order: [C - 1].
void store_margins(const float* logits, std::int64_t stride, std::int64_t target, Eigen::Ref<Eigen::VectorXd> margins);
Eigen::VectorXd margins_of(std::span<const float> logits, std::int64_t target);

/// The backends that were compiled in, best first.
std::span<const std::string_view> backends();

/// Compiles a classifier (one input, one output [C]) for a backend ("cpu" or "reference").
/// Error{usage} for an unknown backend, Error{resources} where a single example does not fit the memory.
Result<std::unique_ptr<Executor>> make_executor(std::string_view backend, const Graph& classifier,
                                                const ExecutorOptions& options);

/// A classifier of points of shape `point` of which only the logits are known, such as one that others run (exec/outside.h). It
/// is not differentiable. options.batch lanes a run.
std::unique_ptr<Executor> make_forward_executor(std::string_view name, std::unique_ptr<Program> forward, Shape point,
                                                std::int64_t classes, const ExecutorOptions& options);

}  // namespace probust
