// SPDX-License-Identifier: MIT
//
// Functions that the analysis commands share: selecting rows, naming groups and writing charts.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/run/results.h"
#include "probust/analysis/groups.h"
#include "probust/analysis/statistics.h"
#include "probust/base/document.h"
#include "report/plot.h"

namespace probust::cli {

/// Throws Error{usage} if --plot is given but does not name an .svg file.
void check_plot(const Arguments& arguments);

/// Calls results_of(). If the results come from a run, also prints the run's warnings (unless the output is JSON) and selects
/// rows by --sigma, --noise and --estimator; if no rows remain, throws Error{usage} that lists the possible values. Checks
/// --plot first, so that a mistake is reported before anything is computed.
RunResults selected_results(const Arguments& arguments);

/// The noise and estimator of a group, such as "gaussian:0.1, mc:100", preceded by the name of its model if it has one.
std::string group_text(const GroupKey& key);

/// Writes the chart to the file of --plot, if given. Throws Error{resources}.
void write_plot(const Arguments& arguments, const report::Chart& chart);

}  // namespace probust::cli
