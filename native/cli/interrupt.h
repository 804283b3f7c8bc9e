// SPDX-License-Identifier: MIT
#pragma once

#include "probust/exec/executor.h"

namespace probust::cli {

/// From now on, SIGINT and SIGTERM end the program with the status kInterrupted.
void end_on_signals();

/// During its lifetime, SIGINT and SIGTERM ask the executor to stop instead of ending the program at once. A second signal ends
/// the program, and so does a timeout of 1.5 seconds, because some work, such as compiling a model, does not check for stop
/// requests.
class StopOnSignal {
 public:
  explicit StopOnSignal(Progress& progress);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
};

}  // namespace probust::cli
