// SPDX-License-Identifier: MIT
#include "probust/exec/executor.h"

#include <utility>

namespace probust {
namespace {

// An AverageJob whose first step does all the work, for executors that cannot divide it.
class AverageJobAtOnce final : public AverageJob {
 public:
  AverageJobAtOnce(Executor& executor, Points points, Noise noise, std::int64_t samples)
      : AverageJob(executor.progress.stop),
        executor_(executor),
        points_(std::move(points)),
        noise_(std::move(noise)),
        samples_(samples) {}

  std::int64_t planned() const override { return samples_; }
  std::int64_t done() const override { return finished() ? samples_ : 0; }
  std::vector<Linearization> value() const override { return made_; }

 private:
  bool advance() override {
    made_ = executor_.linearize_averaged(points_, noise_, samples_).value();
    return false;
  }

  Executor& executor_;
  Points points_;
  Noise noise_;
  std::int64_t samples_;
  std::vector<Linearization> made_;
};

// Returns the answer to a question as the type that the question names.
template <class Asked>
Result<typename Asked::Answer> asked(Executor& executor, const Asked& question) {
  Result<ExecutorAnswer> answer = executor.answer(question);
  if (!answer) return answer.error();
  return std::get<typename Asked::Answer>(std::move(answer).value());
}

}  // namespace

Result<Tensor> Executor::logits(const Tensor& x) { return asked(*this, LogitsAt{x}); }

Result<std::monostate> Executor::jacobian(const Tensor& x, const JacobianAt::Take& take) {
  return asked(*this, JacobianAt{x, take});
}

Result<std::vector<Linearization>> Executor::linearize(const Points& points, const NoiseShape& shape) {
  return asked(*this, LinearizeAtPoint{points, shape});
}

Result<std::vector<Linearization>> Executor::linearize_smoothed(const Points& points, const Noise& noise) {
  return asked(*this, LinearizeAtMean{points, noise});
}

Result<std::vector<Linearization>> Executor::linearize_averaged(const Points& points, const Noise& noise, std::int64_t samples) {
  return asked(*this, LinearizeAveraged{points, noise, samples});
}

Result<std::vector<LogitMoments>> Executor::moments(const Points& points, const Noise& noise) {
  return asked(*this, PropagateMoments{points, noise});
}

Result<PredictionCounts> Executor::sample(const Points& points, const Noise& noise, std::int64_t samples, std::int64_t first) {
  return asked(*this, CountPredictions{points, noise, samples, first});
}

Result<std::vector<Pairs>> Executor::pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first) {
  return asked(*this, PairMargins{points, noise, count, first});
}

Result<std::vector<Projection>> Executor::project(const Points& points, const std::vector<std::vector<std::int64_t>>& rivals,
                                                  const Noise& noise, std::int64_t count, std::int64_t known, LinearizeAt at) {
  return asked(*this, ProjectNoise{points, rivals, noise, count, known, at});
}

std::unique_ptr<AverageJob> averages_at_once(Executor& executor, const Points& points, const Noise& noise, std::int64_t samples) {
  return std::make_unique<AverageJobAtOnce>(executor, points, noise, samples);
}

}  // namespace probust
