// SPDX-License-Identifier: MIT
// An executor that wraps another one and handles each question by its type. It must compile as it is, and must not compile with
// IGNORES_A_QUESTION (tests/CMakeLists.txt).
#include <type_traits>

#include "probust/exec/forwarding_executor.h"

namespace probust {

class Decorator final : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;

  Result<ExecutorAnswer> answer(const ExecutorQuestion& question) override {
    return answer_by_type(question, [this](const auto& asked) { return pass_on(asked); });
  }

 private:
  Result<Tensor> pass_on(const LogitsAt& asked) { return inner().logits(asked.x); }
  Result<std::monostate> pass_on(const JacobianAt& asked) { return inner().jacobian(asked.x, asked.take); }
  Result<std::vector<Linearization>> pass_on(const LinearizeAtPoint& asked) {
    return inner().linearize(asked.points, asked.shape);
  }
  Result<std::vector<Linearization>> pass_on(const LinearizeAtMean& asked) {
    return inner().linearize_smoothed(asked.points, asked.noise);
  }
  Result<std::vector<Linearization>> pass_on(const LinearizeAveraged& asked) {
    return inner().linearize_averaged(asked.points, asked.noise, asked.samples);
  }
  Result<std::vector<LogitMoments>> pass_on(const PropagateMoments& asked) { return inner().moments(asked.points, asked.noise); }
  Result<PredictionCounts> pass_on(const CountPredictions& asked) {
    return inner().sample(asked.points, asked.noise, asked.samples, asked.first);
  }
#ifndef IGNORES_A_QUESTION
  Result<std::vector<Pairs>> pass_on(const PairMargins& asked) {
    return inner().pairs(asked.points, asked.noise, asked.count, asked.first);
  }
#endif
  Result<std::vector<Projection>> pass_on(const ProjectNoise& asked) {
    return inner().project(asked.points, asked.rivals, asked.noise, asked.count, asked.known, asked.at);
  }
};

static_assert(!std::is_abstract_v<Decorator>);

}  // namespace probust
