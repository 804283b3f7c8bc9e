// SPDX-License-Identifier: MIT
//
// Runs that several experiments use: one of the subject's network and linear classifier with all estimators and scales, and one
// over all test points.
#pragma once

#include <string>
#include <vector>

#include "experiments/study.h"

namespace probust::cli::reproduce {

/// The MMSE estimator with a number of samples that the paper considers sufficient.
inline constexpr const char* kFewSamples = "mmse:10";

struct MainRun {
  Question of_network, of_linear;
  std::string reference;       ///< the estimator with which the others are compared, such as "mc:10000"
  std::string mmse, mmse_mvs;  ///< these estimators, with enough samples to converge, as in the paper
  std::vector<std::string> paper, equal_cost, linear;
  std::string equal_mc;  ///< Monte Carlo at the cost of mmse:5
  std::int64_t equal_passes = 0;
};

/// A run over all test points at the middle scale, with fewer samples, for results that need many points of each class.
struct WideRun {
  Question question;
  std::string mc, mmse;
};
WideRun wide_run(Study& study);

/// The main run, for Study::rows(), which computes its estimates. Trains the two classifiers unless they already exist.
MainRun main_run(Study& study);

}  // namespace probust::cli::reproduce
