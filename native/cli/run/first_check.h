// SPDX-License-Identifier: MIT
//
// The check before estimates: whether data, preprocessing and labels suit the model (check/check.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/run/destination.h"
#include "cli/run/plan.h"
#include "cli/run/problem.h"
#include "probust/check/check.h"

namespace probust::cli {

/// The input of a check: at most `most` points, evenly spread over the data. Points that cannot be read are omitted.
CheckInput check_input(Problem& problem, const std::vector<Noise>& noises, std::int64_t most);

/// The findings of a first check.
struct FirstCheck {
  std::vector<std::string> warnings;  ///< one line each
  std::vector<std::string> notes;     ///< notes on layout and sigma
  std::string hint;                   ///< for the notes of rows; empty without warnings
};

/// A check of at most 100 points, with as many alternatives as cost little of the `planned` passes. Without labels, the model
/// is not run. Empty with --no-check.
FirstCheck first_check(Problem& problem, const std::vector<Noise>& noises, std::int64_t planned);

/// The same for one model of a plan. If the destination resumes a run that was checked, returns its stored findings. Prints the
/// warnings to stderr, also with --quiet, and stores them in the destination.
FirstCheck first_check(Problem& problem, const Plan& plan, const std::string& model, Destination& destination);

/// Warns of problems that are found during estimation, and stores them in the destination.
FirstCheck warn_of(const Finding& finding, const std::string& model, Destination& destination);

/// Prints warnings to stderr, each preceded by "probust: warning: ".
void say_warnings(const std::vector<std::string>& warnings);

/// The warnings of a run's information, one per line.
std::vector<std::string> warnings_in(const store::Configuration& information);

/// The entries of `information` about checks ("warnings", "checked", "hints"), with the new lines of `more`.
store::Configuration joined_checks(const store::Configuration& information, const store::Configuration& more);

}  // namespace probust::cli
