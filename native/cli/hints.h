// SPDX-License-Identifier: MIT
//
// What a run says about itself on stderr, so that a wrong scale, layout or label file shows at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/problem.h"
#include "probust/noise/noise.h"

namespace probust::cli {

/// "clean accuracy 91.25% (73 of 80)", after `of`; nothing if no point has a label.
void report_accuracy(const std::string& of, std::int64_t correct, std::int64_t labelled);

/// Says once, when enough points are predicted, that labels do not fit the model or that accuracy is close to chance.
class AccuracyHint {
 public:
  void show(const Problem& problem, std::int64_t correct, std::int64_t labelled);

 private:
  bool shown_ = false;
};

/// Noise that is larger than the range of the first points is mostly a mistake about units; says so, unless --quiet.
void report_large_noise(Problem& problem, const std::vector<Noise>& noises);

}  // namespace probust::cli
