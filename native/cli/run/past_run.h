// SPDX-License-Identifier: MIT
//
// Opens the data and models of a run again, with the options that its rows were computed with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/run/problem.h"
#include "cli/run/results.h"

namespace probust::cli {

/// A run, and the paths of its files.
struct PastRun {
  const store::Configuration& configuration;
  const store::Configuration& information;
  std::string data;                 ///< path of the data; if empty, the recorded path
  std::vector<std::string> models;  ///< paths of the models, in the order of the run; if empty, the recorded paths
  DeviceArguments device{};         ///< the device on which to run the models
};

/// Opens the run's data with its data options: all points, without labels. Throws Error, in particular if the file is not the
/// one that the run read.
std::unique_ptr<PointSource> open_points(const PastRun& run);

/// Loads the model that rows call `model`, with the data, the target and the event of the run. Throws Error, in particular if
/// the files are not those that the run read.
Problem reopen_problem(const PastRun& run, const std::string& model);

}  // namespace probust::cli
