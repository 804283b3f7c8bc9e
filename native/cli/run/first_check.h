// SPDX-License-Identifier: MIT
//
// The check before estimates: whether data, preprocessing and labels match the model (check/check.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/run/destination.h"
#include "cli/run/plan.h"
#include "cli/run/problem.h"
#include "probust/check/check.h"

namespace probust::cli {

/// The input of a check: at most `most` points, spread evenly over the data. Points that cannot be read are omitted.
CheckInput check_input(Problem& problem, const std::vector<Noise>& noises, std::int64_t most);

/// The findings of a first check.
struct FirstCheck {
  std::vector<std::string> warnings;  ///< one line each
  std::vector<std::string> notes;     ///< notes on the layout and on sigma
  std::string hint;                   ///< text to add to the notes of rows; empty if there are no warnings
};

/// Checks at most 100 points, and tests as many alternatives as are cheap compared with the `planned` passes. Without labels,
/// the model is not run. With --no-check, the result is empty.
FirstCheck first_check(Problem& problem, const std::vector<Noise>& noises, std::int64_t planned);

/// Like the previous function, for one model of a plan. Prints the warnings to stderr, even with --quiet, and stores them in
/// the destination. If the destination resumes a run that was already checked, returns the stored findings instead.
FirstCheck first_check(Problem& problem, const Plan& plan, const std::string& model, Destination& destination);

/// Prints a warning about a problem that was found during estimation, and stores it in the destination.
FirstCheck warn_of(const Finding& finding, const std::string& model, Destination& destination);

/// Prints warnings to stderr, each preceded by "probust: warning: ".
void say_warnings(const std::vector<std::string>& warnings);

/// The warnings in a run's information.
std::vector<std::string> warnings_in(const store::Configuration& information);

/// The entries about checks ("warnings", "checked", "hints") of `information`, plus the lines that only `more` has.
store::Configuration joined_checks(const store::Configuration& information, const store::Configuration& more);

}  // namespace probust::cli
