// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "probust/exec/program.h"

namespace probust {

/// Forward passes that run elsewhere and cannot be waited for, such as in another inference engine on a web page. When unknown
/// logits are needed, the call ends with an Error. The caller fetches them and calls again; the same inputs are then requested in
/// the same order (ExecutorJob). For executors with one thread.
class ExternalEngine {
 public:
  /// Inputs whose logits are needed.
  struct Inputs {
    std::int64_t count = 0;
    std::vector<float> values;  ///< [count, d], each as the model takes it
  };

  /// The inputs whose logits were missing last; null if they have been supplied.
  const Inputs* wanted() const { return wanted_ ? &*wanted_ : nullptr; }

  /// Supplies the logits [count, classes] of the wanted inputs. Throws Error{usage} if nothing is wanted or the size is wrong.
  void answer(std::vector<float> logits, std::int64_t classes);

  /// Inputs answered so far.
  std::int64_t passes() const { return passes_; }

  /// The logits of `inputs`. Throws Error{interrupted} if they are not known yet.
  const std::vector<float>& logits(Inputs inputs);

  /// Drops the answers so far, because the call that requested them has succeeded.
  void forget() { answers_.clear(); }

 private:
  struct Answer {
    Inputs inputs;
    std::vector<float> logits;
  };

  std::vector<Answer> answers_;  // a repeated call requests these again
  std::optional<Inputs> wanted_;
  std::int64_t passes_ = 0;
};

/// A program whose logits [classes] come from `external`. Its input first goes through `preparation` (one input, one output).
/// `external` must outlive it.
std::unique_ptr<Program> external_program(ExternalEngine& external, const Graph& preparation, std::int64_t classes);

}  // namespace probust
