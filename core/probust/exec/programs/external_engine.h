// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "probust/exec/programs/program.h"

namespace probust {

/// Passes that run elsewhere and for which the call cannot wait, such as in another inference engine on a web page. If logits
/// or gradients are unknown, the call ends with an Error. The caller fetches them and calls again; the same inputs are then
/// requested in the same order (ExecutorJob). For executors with one thread.
class ExternalEngine {
 public:
  /// Inputs whose logits are needed or, if there are cotangents, their gradients.
  struct Inputs {
    std::int64_t count = 0;
    std::vector<float> values;        ///< [count, d] in the form that the model accepts
    std::vector<float> cotangents{};  ///< [count, classes] c, if the gradient of cᵀ logits is needed
  };

  /// The inputs for which the last request had no answer; null if it has been supplied since.
  const Inputs* wanted() const { return wanted_ ? &*wanted_ : nullptr; }

  /// Supplies the logits [count, classes] of the wanted inputs, or their gradients [count, d]. Throws Error{usage} if nothing
  /// is wanted or the size is wrong.
  void answer(std::vector<float> values, std::int64_t classes);

  /// The number of inputs answered so far.
  std::int64_t passes() const { return passes_; }

  /// The logits of `inputs`, or their gradients. Throws Error{interrupted} if they are not known yet.
  const std::vector<float>& ask(Inputs inputs);

  /// Drops the answers so far, because the call that requested them has succeeded.
  void forget() { answers_.clear(); }

 private:
  struct Answer {
    Inputs inputs;
    std::vector<float> values;
  };

  std::vector<Answer> answers_;  // a repeated call requests these again
  std::optional<Inputs> wanted_;
  std::int64_t passes_ = 0;
};

/// A program whose logits [classes] come from `external`. Its input first passes through `preparation` (one input, one output).
/// `external` must outlive the program.
std::unique_ptr<Program> external_program(ExternalEngine& external, const Graph& preparation, std::int64_t classes);

/// external_program with gradients: (x, c [classes]) -> (logits, the gradient of cᵀ logits), with c seeded, as in
/// gradient_graph. Requests gradients of at most `most` inputs at a time.
std::unique_ptr<Program> external_gradient_program(ExternalEngine& external, const Graph& preparation, std::int64_t classes,
                                                   std::int64_t most);

}  // namespace probust
