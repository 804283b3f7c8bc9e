// SPDX-License-Identifier: MIT
//
// Data and models of a run, opened again with the options of its estimate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/run/problem.h"
#include "cli/run/results.h"

namespace probust::cli {

/// A run, and where its files are.
struct PastRun {
  const store::Configuration& configuration;
  const store::Configuration& information;
  std::string data;                 ///< empty: where they were
  std::vector<std::string> models;  ///< in the order of the estimate; empty: where they were
  DeviceArguments device{};         ///< to run the models
};

/// The run's data with their options, from the first point to the last, without labels. Throws Error, also if the file differs
/// from that of the run.
std::unique_ptr<PointSource> open_points(const PastRun& run);

/// The question of the run, with the model of this name in rows. Throws Error, also if the model's files differ from those of
/// the run.
Problem reopen_problem(const PastRun& run, const std::string& model);

}  // namespace probust::cli
