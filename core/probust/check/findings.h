// SPDX-License-Identifier: MIT
//
// What can be said of the data and the predictions without another way to read them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "probust/check/alternatives.h"
#include "probust/check/check.h"

namespace probust {

/// Ranges against sigma, duplicate and constant points, values that are not finite.
std::vector<Finding> data_findings(const CheckInput& input, const Values& values);

/// Labels against the model's classes.
std::vector<Finding> label_findings(const CheckInput& input);

/// One class for all points; with labels, an accuracy near chance. `explained`: a better way is known, so accuracy needs no
/// finding.
std::vector<Finding> prediction_findings(const CheckInput& input, const Values& values, std::span<const std::int64_t> predicted,
                                         bool explained);

/// "23.4%".
std::string percent(double share);

}  // namespace probust
