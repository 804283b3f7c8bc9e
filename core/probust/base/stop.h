// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "probust/base/error.h"

namespace probust {

/// A request to stop, set from any thread or a signal handler. Long work checks it often and then ends with Error{interrupted}.
using StopToken = std::atomic<bool>;

/// Throws Error{interrupted} if `stop` is given and set.
inline void stop_if_asked(const StopToken* stop) {
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw interruption();
}

}  // namespace probust
