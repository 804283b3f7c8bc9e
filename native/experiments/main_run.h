// SPDX-License-Identifier: MIT
//
// The run that several experiments use: the subject's network and its linear classifier, with all estimators and all scales.
#pragma once

#include <string>
#include <vector>

#include "experiments/study.h"

namespace probust::cli::reproduce {

/// The MMSE estimator with the few samples that suffice according to the paper.
inline constexpr const char* kFewSamples = "mmse:10";

struct MainRun {
  Question of_network, of_linear;
  std::string reference;       ///< "mc:10000"
  std::string mmse, mmse_mvs;  ///< with enough samples to converge, as in the paper
  std::vector<std::string> paper, equal_cost, linear;
  std::string equal_mc;  ///< Monte Carlo at the cost of mmse:5
  std::int64_t equal_passes = 0;
};

/// A run over all test points at the middle scale with few samples, for results that need many points of each class.
struct WideRun {
  Question question;
  std::string mc, mmse;
};
WideRun wide_run(Study& study);

/// Trains the two classifiers unless they exist. Estimates nothing.
MainRun main_run(Study& study);

}  // namespace probust::cli::reproduce
