// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "probust/base/job.h"
#include "probust/exec/executor.h"
#include "probust/exec/external_engine.h"

namespace probust {

/// What a piece of an ExecutorJob asks; used there alone. It answers questions until the time of the step is over, or an external
/// engine must answer first. Then it is paused: the question ends with Error{interrupted}. The next attempt asks the same
/// questions again, and each continues where it was: answers so far are kept until `forget`. No result depends on where it was
/// paused, because none depends on chunks.
///
/// It is paused between lanes, copies and points. The gradients of one point, and the end of its averages, are not split.
class StepwiseExecutor final : public Executor {
 public:
  /// `inner` and `time` must outlive it, and so must `external`, if the logits of `inner` come from there.
  StepwiseExecutor(Executor& inner, StepTime& time, ExternalEngine* external)
      : Executor(&inner.progress), inner_(inner), time_(time), external_(external) {}

  /// The questions begin again with the first.
  void begin_attempt();

  /// Whether the attempt has been paused.
  bool paused() const { return paused_; }

  /// Drops all answers: the next question is a new one.
  void forget();

  std::string_view name() const override { return inner_.name(); }
  std::int64_t classes() const override { return inner_.classes(); }
  const Shape& point_shape() const override { return inner_.point_shape(); }
  bool piecewise_constant() override { return inner_.piecewise_constant(); }
  bool handles_missing() override { return inner_.handles_missing(); }
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
  Result<std::vector<LogitMoments>> moments(const Points& points, const Noise& noise) override;
  Result<std::vector<Linearization>> linearize_averaged(const Points& points, const Noise& noise, std::int64_t samples) override;
  Result<std::vector<std::vector<std::int64_t>>> sample(const Points& points, const Noise& noise, std::int64_t samples,
                                                        std::int64_t first) override;
  Result<std::vector<Pairs>> pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first) override;
  Result<std::vector<Projection>> project(const Points& points, const std::vector<std::vector<std::int64_t>>& rivals,
                                          const Noise& noise, std::int64_t count, std::int64_t known, Around around) override;
  normal::ProblemSolver* normal_solver() override { return inner_.normal_solver(); }

 private:
  using Counts = std::vector<std::vector<std::int64_t>>;
  using Answer = std::variant<Tensor, std::vector<float>, std::vector<Linearization>, std::vector<LogitMoments>,
                              std::unique_ptr<Averages>, Counts, std::vector<Pairs>, std::vector<Projection>>;

  /// A question and its answer so far.
  struct Question {
    std::uint64_t key;  ///< of what is asked
    Answer answer{};
    std::int64_t done = 0;  ///< of its units: rows, points or samples
    bool begun = false;
    double pace = 0;  ///< milliseconds per unit
    std::optional<Error> refused{};
  };

  Question& next_question(std::uint64_t key);
  template <class T, class Part, class Add>
  T ask(std::uint64_t key, std::int64_t units, std::int64_t lanes_a_unit, Part part, Add add, double* pace = nullptr);
  template <class T, class Part>
  std::vector<T> ask_points(std::uint64_t key, const Points& points, Part part);
  std::vector<Pairs> ask_pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first);
  void add_one_piece(Averages& averages);
  const Averages& ask_averages(const Points& points, const Noise& noise, std::int64_t samples);
  std::int64_t chunk(const Question& question, std::int64_t left, std::int64_t lanes_a_unit) const;
  bool unlimited() const;
  void begin_part();
  [[noreturn]] void pause();
  [[noreturn]] void refuse(Question& question, const Error& error);

  Executor& inner_;
  StepTime& time_;
  ExternalEngine* external_;
  std::vector<Question> questions_;
  std::size_t next_ = 0;
  bool paused_ = false;
};

}  // namespace probust
