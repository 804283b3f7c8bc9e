// SPDX-License-Identifier: MIT
#pragma once

#include "probust/exec/executor.h"

namespace probust::cli {

/// From now on, SIGINT and SIGTERM end the program with the status kInterrupted.
void end_on_signals();

/// While it lives, SIGINT and SIGTERM ask the executor to stop instead of ending the program at once. A second signal ends it,
/// and so does the time: 1.5 seconds later, what does not look whether it should stop, such as compiling a model, is not waited
/// for.
class StopOnSignal {
 public:
  explicit StopOnSignal(Progress& progress);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
};

}  // namespace probust::cli
