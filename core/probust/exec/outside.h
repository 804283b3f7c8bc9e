// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "probust/exec/program.h"

namespace probust {

/// Forward passes that somebody else runs, who cannot be waited for: another engine, in a page. Where logits are wanted that are
/// not known, the attempt ends; whoever made it fetches them and makes it again, which asks the same questions (stepwise.h).
/// For executors with one thread.
class Outside {
 public:
  /// Inputs whose logits are wanted.
  struct Inputs {
    std::int64_t count = 0;
    std::vector<float> values;  ///< [count, d], each as the model takes it
  };

  /// Begins an attempt.
  void resume();

  /// What the present attempt ended for the want of; null where it did not.
  const Inputs* wanted() const { return wanting_ ? &answers_.back().inputs : nullptr; }

  /// The logits [count, classes] of what is wanted. Throws Error{usage} where they are of another number.
  void answer(std::vector<float> logits, std::int64_t classes);

  /// Inputs answered so far.
  std::int64_t passes() const { return passes_; }

  /// The logits of `inputs`. Throws Error where they have to be waited for.
  const std::vector<float>& logits(Inputs inputs);

 private:
  struct Answer {
    Inputs inputs;
    std::vector<float> logits;
    bool used = false;  // by the present attempt
  };

  std::vector<Answer> answers_;  // that an attempt may ask for again
  bool wanting_ = false;
  std::int64_t passes_ = 0;
};

/// A program whose logits [classes] come from `outside`, given what `preparation` (one input, one output) makes of its own input.
/// `outside` must outlive it.
std::unique_ptr<Program> outside_program(Outside& outside, const Graph& preparation, std::int64_t classes);

}  // namespace probust
