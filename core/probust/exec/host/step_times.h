// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "probust/exec/executor.h"

// Measures how the time of a run is divided among its steps.
namespace probust {

/// Measures the time of each step of a program during its lifetime.
struct Timing {
  Timing(Workspace& timed, std::vector<double>& seconds) : workspace(timed) { workspace.seconds = &seconds; }
  ~Timing() { workspace.seconds = nullptr; }
  Timing(const Timing&) = delete;
  Timing& operator=(const Timing&) = delete;
  Workspace& workspace;
};

/// The times of a run's steps, summed by kind, longest first.
std::vector<KindTime> by_kind(const std::vector<ProgramStep>& steps, const std::vector<double>& seconds, const Batch& batch);

}  // namespace probust
