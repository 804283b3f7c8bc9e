// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cli/arguments.h"
#include "datasets/dataset.h"
#include "probust/estimators/estimator.h"

namespace probust::cli {

/// The input of `estimate`: question, points and noise.
struct Problem {
  Arguments arguments;
  Dataset data;
  std::unique_ptr<Executor> executor;
  std::vector<Noise> noises;  ///< fitted to the executor's points, in the order requested
};

/// The model and data of `arguments`; with --tolerance, the classifier whose last class is "within tolerance" of a regression
/// model (estimators/tolerance.h), and that class as the target. Throws Error, also if the noise does not fit the points.
Problem load_problem(const Arguments& arguments, const std::vector<Noise>& noises);

/// The class whose survival is estimated, per point. Throws Error{usage}.
std::vector<std::int64_t> targets(const Arguments& arguments, const Dataset& data, const Tensor& logits);

/// The event that must survive: --groups "0,1/Shirt,Coat", --per-class and --top. Throws Error{usage}.
Event parse_event(const Arguments& arguments, const std::vector<std::string>& class_names, std::int64_t classes);

}  // namespace probust::cli
