// SPDX-License-Identifier: MIT
//
// Findings about the data and the predictions that do not require runs with alternative preprocessing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "probust/check/alternatives.h"
#include "probust/check/check.h"

namespace probust {

/// Findings about the range of the values, sigma, duplicate and constant points, and values that are not finite.
std::vector<Finding> data_findings(const CheckInput& input, const Values& values);

/// Findings about labels and the model's classes.
std::vector<Finding> label_findings(const CheckInput& input);

/// Findings about predictions: one class for all points; with labels, an accuracy near chance. If `explained`, a better transform
/// is already reported, and there are no findings.
std::vector<Finding> prediction_findings(const CheckInput& input, const Values& values, std::span<const std::int64_t> predicted,
                                         bool explained);

/// The share as text: "23.4%".
std::string percent(double share);

}  // namespace probust
