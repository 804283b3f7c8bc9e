// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probust/exec/programs/program.h"

namespace probust {

/// Passes that run elsewhere, such as in another inference engine on a web page, and the caller's own functions that draw noisy
/// samples. A call cannot wait for either: if an answer is unknown, the call ends with an Error. The caller then obtains the
/// answer and calls again, and the same inputs are requested in the same order (ExecutorJob). Several threads may ask, but
/// programs with an external model are only for executors with one thread.
class ExternalEngine {
 public:
  /// Inputs for which logits are needed, gradients (if there are cotangents), or changed inputs (if there is a function).
  struct Inputs {
    std::int64_t count = 0;
    std::vector<float> values;        ///< [count, d] in the form that the model accepts
    std::vector<float> cotangents{};  ///< [count, classes] c, if the gradient of cᵀ logits is needed
    std::string function{};           ///< the name of the function that changes the inputs; empty if the model is needed
    std::vector<float> latents{};     ///< [count, k] the normals z for the function
  };

  /// The inputs for which the last request had no answer; null if the answer has been supplied since.
  const Inputs* wanted() const { return wanted_ ? &*wanted_ : nullptr; }

  /// Supplies the logits [count, classes] of the wanted inputs, or their gradients [count, d], or changed inputs [count, d].
  /// Throws Error{usage} if nothing is wanted or the size is wrong.
  void answer(std::vector<float> values, std::int64_t classes);

  /// The number of inputs that the model has answered so far.
  std::int64_t passes() const { return passes_; }

  /// The answer for `inputs`. Throws Error{interrupted} if it is not known yet.
  const std::vector<float>& ask(Inputs inputs);

  /// stored: the number of stored answers. forget: drops all but the first `kept` answers, because the call that requested the
  /// others has succeeded.
  std::size_t stored() const { return answers_.size(); }
  void forget(std::size_t kept = 0) { answers_.resize(std::min(kept, answers_.size())); }

 private:
  struct Answer {
    Inputs inputs;
    std::vector<float> values;
  };

  std::vector<Answer> answers_;  // a repeated call requests these again
  std::mutex mutex_;             // guards wanted_ while threads ask
  std::optional<Inputs> wanted_;
  std::int64_t passes_ = 0;
};

/// A program whose logits [classes] come from `external`. Its input first passes through `preparation` (one input, one
/// output). `external` must outlive the program.
std::unique_ptr<Program> external_program(ExternalEngine& external, const Graph& preparation, std::int64_t classes);

/// external_program with gradients: (x, c [classes]) -> (logits, the gradient of cᵀ logits), with c seeded, as in
/// gradient_graph. Requests gradients of at most `most` inputs at a time.
std::unique_ptr<Program> external_gradient_program(ExternalEngine& external, const Graph& preparation, std::int64_t classes,
                                                   std::int64_t most);

}  // namespace probust
