// SPDX-License-Identifier: MIT
//
// Writes the findings of experiments as files and as a report.
#pragma once

#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "experiments/study.h"

namespace probust::cli::reproduce {

struct Done {
  const Experiment* experiment;
  Findings findings;
};

/// Writes FOLDER/NAME/: every figure as .svg, every table as .csv, and findings.txt with the claims. Throws Error{resources}.
void write_files(const Study& study, const Done& done);

/// The report, an HTML page that needs no other file: first the claims of all experiments, then each experiment.
std::string report_page(const Study& study, const std::vector<Done>& all);

}  // namespace probust::cli::reproduce
