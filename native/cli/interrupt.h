// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "probust/base/stop.h"

namespace probust::cli {

/// From now on, SIGINT, SIGTERM and (unless it is ignored) SIGHUP end the program with the status kInterrupted.
void end_on_signals();

/// Runs `work` and returns its exit status. During the call, SIGINT, SIGTERM and SIGHUP set `stop` instead of ending the
/// program. If `work` has not ended 1.5 seconds later, the program ends, because some work, such as compiling a model, does not
/// check for stop requests; a second signal ends it immediately. If `stop` is set when `work` returns or throws, prints
/// `outcome()`, such as "3 rows were written", and returns kInterrupted.
int run_interruptibly(StopToken& stop, const std::function<int()>& work, const std::function<std::string()>& outcome);

}  // namespace probust::cli
