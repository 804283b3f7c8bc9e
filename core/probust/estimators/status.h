// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace probust {

/// The quality of an estimate, in one word. The estimate's note says more.
enum class Status : std::uint8_t {
  ok,
  tie,          ///< several logits are largest at the point; the lowest index is the prediction
  decided,      ///< p is above or below the threshold, with 95% confidence
  undecided,    ///< the threshold is still within the interval
  capped,       ///< the largest number of samples did not reach the half-width
  bound,        ///< failures are too rare to be seen: p_fail is an upper bound; p may be nearer to 1
  approximate,  ///< computed for other noise than requested
  inexact,      ///< the numerical error is larger than usual
  disagrees,    ///< two methods differ by more than their errors
  degenerate,   ///< no margin changes with the noise, or gradients are useless
  undefined,    ///< the estimator is not defined for this noise; p is NaN, as in all cases below
  nonfinite,    ///< NaN or infinity in the point, its logits or their gradients
  invalid,      ///< the covariance of the margins is not a covariance
  unsupported,  ///< the estimator does not support this model
  resources,    ///< the estimator does not fit the memory
  numerical     ///< a computation failed
};

/// The word in rows: "ok". Scripts and pages rely on these words: do not change them.
std::string_view word(Status status);

/// The status with this word, if there is one.
std::optional<Status> status_of(std::string_view word);

}  // namespace probust
