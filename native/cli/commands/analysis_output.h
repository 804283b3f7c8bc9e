// SPDX-License-Identifier: MIT
//
// Functions that the analysis commands share: their rows, names, JSON and charts.
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

/// Throws Error{usage} if --plot is given and names no .svg file.
void check_plot(const Arguments& arguments);

/// The results of results_of. If they are a run and the output is text, its warnings are printed. For a run, --sigma, --noise
/// and --estimator select rows: throws Error{usage}, listing the choices, if none remain. Also checks --plot, so that a mistake
/// is reported before anything is computed.
RunResults selected_results(const Arguments& arguments);

/// "gaussian:0.1, mc:100", after the model if it has a name.
std::string group_text(const GroupKey& key);

/// Writes the chart to the file of --plot, if given. Throws Error{resources}.
void write_plot(const Arguments& arguments, const report::Chart& chart);

}  // namespace probust::cli
