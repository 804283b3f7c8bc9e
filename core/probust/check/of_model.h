// SPDX-License-Identifier: MIT
//
// Checks a model and points in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probust/check/check.h"
#include "probust/exec/executor.h"
#include "probust/onnx/preprocess.h"
#include "probust/run/run.h"

namespace probust {

/// A model in the form that the check needs.
struct CheckedModel {
  Executor& executor;        ///< runs the preprocessing and the model
  const Shape& input_shape;  ///< shape of the model's input at batch 1
  Preprocessing preprocessing = {};
  std::string decision = {};  ///< the decision rule, in one line
  bool classifies = true;     ///< false for a regression model with a tolerance; then only points and noise are checked
};

/// Checks whether the points x [N, ...], the preprocessing and the labels [N] (may be empty; -1 means none) suit the model, on
/// up to 500 points. `sigmas` are noise scales to compare with the range of the data. Throws Error{usage}.
CheckReport check_model(const CheckedModel& model, const Tensor& x, const std::vector<std::int64_t>& labels,
                        const std::vector<double>& sigmas);

/// A shorter check before an estimate, within the limits of first_check_passes: at most 100 points, and 3% of the planned passes
/// (6% for fewer than 1000 points). `points` is the number of points in the data if the request has only some of them, otherwise
/// 0. Without labels, the model is not run. Throws like check_model.
CheckReport first_check(const CheckedModel& model, const EstimateRequest& request, std::int64_t points = 0);

/// first_check for points that were already selected out of `points`; `planned` is the number of passes of the estimate. The
/// check's own passes do not count in the executor's progress.
CheckReport first_check(CheckInput input, Executor& executor, std::int64_t points, std::int64_t planned);

/// Adds the warning that the model predicts one class for all `points` points, if there are enough. Used for points without
/// labels, for which the check does not run the model.
void add_one_class(CheckReport& report, std::int64_t points, std::int64_t of_class);

}  // namespace probust
