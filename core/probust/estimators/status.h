// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace probust {

/// The quality of an estimate in one word; the estimate's note gives details.
enum class Status : std::uint8_t {
  ok,
  tie,          ///< several logits at the point are the largest; the lowest index is the prediction
  decided,      ///< p is above or below the threshold with 95% confidence
  undecided,    ///< the threshold is still within the interval
  capped,       ///< the half-width was not reached with the largest number of samples
  bound,        ///< failures are too rare to be seen: p_fail is an upper bound, and p may be closer to 1
  approximate,  ///< computed for a noise model other than the requested one
  inexact,      ///< the numerical error is larger than usual
  disagrees,    ///< two methods differ by more than their errors
  degenerate,   ///< no margin changes with the noise, or gradients are useless
  undefined,    ///< the estimator is not defined for this noise; p is NaN, as for all statuses below
  nonfinite,    ///< NaN or infinity in the point, its logits or their gradients
  invalid,      ///< the covariance of the margins is not a valid covariance
  unsupported,  ///< the estimator does not support this model
  resources,    ///< the estimator does not fit into memory
  numerical     ///< a computation failed
};

/// The word for rows: "ok". Scripts and pages rely on these words: do not change them.
std::string_view word(Status status);

/// The status with this word, if there is one.
std::optional<Status> status_of(std::string_view word);

}  // namespace probust
