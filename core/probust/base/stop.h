// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "probust/base/error.h"

namespace probust {

/// A request to stop: set it from any thread or a signal handler. Work that may take long checks it often, and ends with
/// Error{interrupted} soon after it is set.
using StopToken = std::atomic<bool>;

/// Throws Error{interrupted} if `stop` is given and set.
inline void stop_if_asked(const StopToken* stop) {
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw interruption();
}

}  // namespace probust
