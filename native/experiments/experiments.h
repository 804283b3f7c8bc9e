// SPDX-License-Identifier: MIT
//
// The experiments, one function each.
#pragma once

#include "experiments/experiment.h"

namespace probust::cli::reproduce {

// Han, Srinivas, Lakkaraju, "Characterizing Data Point Vulnerability via Average-Case Robustness" (UAI 2024). The paper's
// preprint has further figures and tables.
Findings convergence(Study& study);
Findings error(Study& study);
Findings lambda(Study& study);
Findings mvs(Study& study);
Findings distribution(Study& study);
Findings bias(Study& study);
Findings gallery(Study& study);
Findings noise(Study& study);
Findings discriminate(Study& study);
Findings time(Study& study);

// Scher, Trügler, "Testing robustness of predictions of trained classifiers against naturally occurring perturbations" (2023).
Findings natural(Study& study);

}  // namespace probust::cli::reproduce
