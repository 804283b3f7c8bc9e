// SPDX-License-Identifier: MIT
//
// The check of a model and points in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probust/check/check.h"
#include "probust/exec/executor.h"
#include "probust/onnx/preprocess.h"
#include "probust/run/run.h"

namespace probust {

/// A model as the check sees it.
struct CheckedModel {
  Executor& executor;        ///< runs it after the preprocessing
  const Shape& input_shape;  ///< at batch 1
  Preprocessing preprocessing = {};
  std::string decision = {};  ///< the decision rule, in one line
  bool classifies = true;     ///< false within a tolerance of a regression model: then only points and noise are checked
};

/// Checks whether the points x [N, ...], the preprocessing and the labels [N] (may be empty; -1 means none) suit the model, on up
/// to 500 points. `sigmas` are noise scales to compare with the data's range. Throws Error{usage}.
CheckReport check_model(const CheckedModel& model, const Tensor& x, const std::vector<std::int64_t>& labels,
                        const std::vector<double>& sigmas);

/// A shorter check, the first step of an estimate: of at most 100 points, and at 3% of the planned passes, or 6% for fewer than
/// 1000 points. `points`: the number of all points, if those of the request are a selection; 0: they are all. Without labels, the
/// model is not run. Throws as check_model does.
CheckReport first_check(const CheckedModel& model, const EstimateRequest& request, std::int64_t points = 0);

/// The same check on points that were already chosen, out of `points`; `planned` is the number of passes that the estimate will
/// take. The check's own passes do not count as the executor's progress.
CheckReport first_check(CheckInput input, Executor& executor, std::int64_t points, std::int64_t planned);

/// Adds the warning that the model predicts one class for all `points` points, if they are enough: for points without labels,
/// which the check does not run.
void add_one_class(CheckReport& report, std::int64_t points, std::int64_t of_class);

}  // namespace probust
