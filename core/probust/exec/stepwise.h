// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <variant>
#include <vector>

#include "probust/exec/executor.h"
#include "probust/exec/external_engine.h"

namespace probust {

/// An executor for callers that must not block, such as a page in a browser. It works for a while and then returns
/// Error{interrupted}, as a stopped one does. After the next `resume` the caller starts again from the beginning with
/// the same questions. Earlier results are replayed, not recomputed, so it finishes after a few attempts. No result depends on
/// where it was interrupted, because none depends on chunks.
///
/// It is interrupted between lanes, copies and points. The gradients of one point, and the end of its averages, are not split.
class StepwiseExecutor final : public Executor {
 public:
  /// The speed of an executor, kept from call to call: milliseconds per row of logits, 0 while unknown.
  struct Pace {
    double logits = 0;
  };

  /// `inner`, `pace` and `external` must outlive it. Give `external` if inner gets its logits there: an attempt then also ends
  /// when logits are missing.
  explicit StepwiseExecutor(Executor& inner, ExternalEngine* external = nullptr, Pace* pace = nullptr)
      : inner_(inner), external_(external), pace_(pace) {
    resume(0);
  }

  /// Starts an attempt: at least one chunk of new work, then more for `milliseconds`, or for as long as replaying took if longer.
  void resume(double milliseconds);

  /// Whether the attempt has used its time.
  bool out_of_time() const { return worked_ && Clock::now() >= deadline_; }

  /// Whether the current attempt ended because time ran out or logits from `external` were missing.
  bool interrupted() const { return interrupted_; }

  /// Drops all earlier results: the next question is a new one.
  void forget();

  std::string_view name() const override { return inner_.name(); }
  std::int64_t classes() const override { return inner_.classes(); }
  const Shape& point_shape() const override { return inner_.point_shape(); }
  bool piecewise_constant() override { return inner_.piecewise_constant(); }
  Batch forward_batch() const override { return inner_.forward_batch(); }
  Batch gradient_batch() const override { return inner_.gradient_batch(); }
  std::int64_t backwards_to_linearize() const override { return inner_.backwards_to_linearize(); }
  bool differentiable() const override { return inner_.differentiable(); }
  const ExecutorOptions& options() const override { return inner_.options(); }

  Result<Tensor> logits(const Tensor& x) override;
  Result<std::monostate> jacobian(const Tensor& x,
                                  const std::function<void(std::int64_t, std::span<const float>)>& take) override;
  Result<std::vector<Linearization>> linearize(const Points& points, const NoiseShape& shape) override;
  Result<std::vector<Linearization>> linearize_smoothed(const Points& points, const Noise& noise) override;
  Result<std::vector<Linearization>> linearize_averaged(const Points& points, const Noise& noise, std::int64_t samples) override;
  Result<std::vector<std::vector<std::int64_t>>> sample(const Points& points, const Noise& noise, std::int64_t samples,
                                                        std::int64_t first) override;
  Result<std::vector<Pairs>> pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first) override;
  Result<std::vector<Projection>> project(const Points& points, const std::vector<std::vector<std::int64_t>>& rivals,
                                          const Noise& noise, std::int64_t count, std::int64_t known, Around around) override;
  normal::ProblemSolver* normal_solver() override { return inner_.normal_solver(); }

 private:
  using Clock = std::chrono::steady_clock;
  using Counts = std::vector<std::vector<std::int64_t>>;
  using Sums = std::shared_ptr<Averages>;
  using Answer = std::variant<Tensor, std::vector<float>, std::vector<Linearization>, Sums, Counts, std::vector<Pairs>,
                              std::vector<Projection>>;

  /// A question and its answer so far.
  struct Question {
    Answer answer;
    std::int64_t done = 0;  ///< of its units: rows, points or samples
    bool begun = false;
    double pace = 0;  ///< milliseconds per unit
  };

  template <class T, class Part, class Add>
  Result<T> ask(std::int64_t units, std::int64_t lanes_a_unit, Part part, Add add, double* pace = nullptr);
  template <class T, class Part>
  Result<std::vector<T>> ask_points(const Points& points, Part part);
  std::int64_t chunk(const Question& question, std::int64_t left, std::int64_t lanes_a_unit) const;
  void begin_work();

  Executor& inner_;
  ExternalEngine* external_;
  Pace* pace_;
  std::vector<Question> questions_;
  std::size_t next_ = 0;
  bool worked_ = false, interrupted_ = false;
  std::chrono::duration<double, std::milli> budget_{0};
  Clock::time_point begun_, deadline_;
};

}  // namespace probust
