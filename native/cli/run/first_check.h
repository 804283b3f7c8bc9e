// SPDX-License-Identifier: MIT
//
// The check that precedes estimates: whether data, preprocessing and labels suit the model (check/check.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/run/destination.h"
#include "cli/run/plan.h"
#include "cli/run/problem.h"
#include "probust/check/check.h"

namespace probust::cli {

/// What a check needs: at most `most` points, evenly spread over the data. Points that cannot be read are left out.
CheckInput check_input(Problem& problem, const std::vector<Noise>& noises, std::int64_t most);

/// What a first check found.
struct FirstCheck {
  std::vector<std::string> warnings;  ///< one line each
  std::vector<std::string> notes;     ///< on layout and sigma
  std::string hint;                   ///< for the notes of rows; empty without warnings
};

/// At most 100 points, and as many alternatives as cost little of the `planned` passes. Without labels, the model is not run.
/// With --no-check, nothing.
FirstCheck first_check(Problem& problem, const std::vector<Noise>& noises, std::int64_t planned);

/// The same for one model of a plan. If the destination goes on with a run that was checked, what is stored there. Prints the
/// warnings on stderr, also with --quiet, and informs the destination.
FirstCheck first_check(Problem& problem, const Plan& plan, const std::string& model, Destination& destination);

/// Warns of what shows while points are estimated; informs the destination.
FirstCheck warn_of(const Finding& finding, const std::string& model, Destination& destination);

/// Prints warnings on stderr, each after "probust: warning: ".
void say_warnings(const std::vector<std::string>& warnings);

/// The warnings of a run's information, one per line.
std::vector<std::string> warnings_in(const store::Configuration& information);

/// The entries of `information` about checks ("warnings", "checked", "hints"), with the lines of `more` that are new.
store::Configuration joined_checks(const store::Configuration& information, const store::Configuration& more);

}  // namespace probust::cli
