// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "probust/base/job.h"
#include "probust/exec/forwarding_executor.h"
#include "probust/exec/programs/external_engine.h"

namespace probust {

/// The executor that pieces of an ExecutorJob use. It answers questions until the step's time limit is reached or an external
/// engine must answer first. It then pauses: the current question ends with Error{interrupted}. The next attempt asks the same
/// questions again, and each continues where it was paused, because partial answers are stored until `forget`. Results do not
/// depend on pauses, because they do not depend on chunks.
///
/// Pauses are possible between lanes, samples and points, but not within the gradients of one point or the last step of its
/// averages.
class StepwiseExecutor final : public ForwardingExecutor {
 public:
  /// `inner` and `time` must outlive this object, and so must `external`, the source of the logits of `inner`, if any.
  StepwiseExecutor(Executor& inner, StepTime& time, ExternalEngine* external)
      : ForwardingExecutor(inner), time_(time), external_(external) {}

  /// Starts again with the first question.
  void begin_attempt();

  /// Whether the attempt has been paused.
  bool paused() const;

  /// Drops all answers, so that the next question is a new one.
  void forget();

  Result<ExecutorAnswer> answer(const ExecutorQuestion& question) override;

  /// The inner executor's result, as an executor that is paused together with this one.
  Result<Executor*> after(const std::shared_ptr<const NoiseMap>& map) override;

 private:
  using Partial = std::variant<Tensor, std::vector<Linearization>, std::vector<LogitMoments>, PredictionCounts,
                               std::vector<Pairs>, std::vector<Projection>, std::unique_ptr<AverageJob>>;

  /// A question that was asked, and its answer so far.
  struct Asked {
    std::uint64_t key;  ///< key of the question
    Partial answer{};
    std::int64_t done = 0;  ///< number of finished units of the answer: rows, points or samples
    bool begun = false;
    double pace = 0;                      ///< milliseconds per unit
    std::optional<std::size_t> stored{};  ///< number of the external engine's answers before those for the part in progress
    std::optional<Error> refused{};
  };

  Tensor in_parts(const LogitsAt& question);
  std::monostate in_parts(const JacobianAt& question);
  std::vector<Linearization> in_parts(const LinearizeAtPoint& question);
  std::vector<Linearization> in_parts(const LinearizeAtMean& question);
  std::vector<Linearization> in_parts(const LinearizeAveraged& question);
  std::vector<LogitMoments> in_parts(const PropagateMoments& question);
  PredictionCounts in_parts(const CountPredictions& question);
  std::vector<Pairs> in_parts(const PairMargins& question);
  std::vector<Projection> in_parts(const ProjectNoise& question);

  Asked& next_question(std::uint64_t key);
  template <class T, class Part, class Add>
  T ask(std::uint64_t key, std::int64_t units, std::int64_t lanes_a_unit, Part part, Add add, double* pace = nullptr);
  template <class T, class Part>
  std::vector<T> ask_points(std::uint64_t key, const Points& points, Part part);
  void add_one_piece(Asked& asked, AverageJob& averages);
  void begin_asking(Asked& asked);
  void end_asking(Asked& asked);
  const AverageJob& ask_averages(const Points& points, const Noise& noise, std::int64_t samples);
  std::int64_t chunk(const Asked& asked, std::int64_t left, std::int64_t lanes_a_unit) const;
  bool unlimited() const;
  void begin_part();
  [[noreturn]] void pause();
  [[noreturn]] void refuse(Asked& asked, const Error& error);

  StepTime& time_;
  ExternalEngine* external_;
  std::vector<Asked> questions_;
  std::size_t next_ = 0;
  bool paused_ = false;
  std::map<Executor*, std::unique_ptr<StepwiseExecutor>> after_;  // keyed by the executors that they wrap
};

}  // namespace probust
