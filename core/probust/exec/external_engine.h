// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "probust/exec/program.h"

namespace probust {

/// Forward passes that run elsewhere and cannot be waited for, such as in another inference engine on a web page. When unknown
/// logits are needed, the attempt ends with an Error. The caller fetches them and tries again; the new attempt requests the same
/// inputs in the same order (stepwise.h). For executors with one thread.
class ExternalEngine {
 public:
  /// Inputs whose logits are needed.
  struct Inputs {
    std::int64_t count = 0;
    std::vector<float> values;  ///< [count, d], each as the model takes it
  };

  /// Starts an attempt.
  void resume();

  /// The inputs whose missing logits ended the current attempt; null if none are missing.
  const Inputs* wanted() const { return wanting_ ? &answers_.back().inputs : nullptr; }

  /// Supplies the logits [count, classes] of the wanted inputs. Throws Error{usage} if nothing is wanted or the size is wrong.
  void answer(std::vector<float> logits, std::int64_t classes);

  /// Inputs answered so far.
  std::int64_t passes() const { return passes_; }

  /// The logits of `inputs`. Throws Error{interrupted} if they are not known yet.
  const std::vector<float>& logits(Inputs inputs);

 private:
  struct Answer {
    Inputs inputs;
    std::vector<float> logits;
    bool used = false;  // by the present attempt
  };

  std::vector<Answer> answers_;  // an attempt may request these again
  bool wanting_ = false;
  std::int64_t passes_ = 0;
};

/// A program whose logits [classes] come from `external`. Its input first goes through `preparation` (one input, one output).
/// `external` must outlive it.
std::unique_ptr<Program> external_program(ExternalEngine& external, const Graph& preparation, std::int64_t classes);

}  // namespace probust
