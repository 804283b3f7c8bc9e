// SPDX-License-Identifier: MIT
//
// Results of the analyses as documents. --json prints them; JavaScript converts their names to its own style.
#pragma once

#include <string>
#include <vector>

#include "probust/analysis/agree.h"
#include "probust/analysis/bias.h"
#include "probust/analysis/distances.h"
#include "probust/analysis/ranking.h"
#include "probust/analysis/summary.h"
#include "probust/analysis/sweeps.h"
#include "probust/base/document.h"

namespace probust {

Document describe(const GroupKey& key);
Document describe(const MeanInterval& mean);
Document describe(const CleanAccuracy& model);
Document describe(const GroupSummary& group);
/// Classes are named if `names` is not null.
Document describe(const GroupBias& bias, const std::vector<std::string>* names = nullptr);
Document describe(const Ranking& ranking);
Document describe(const Comparison& comparison);
/// Includes the scales at which p falls below `threshold`.
Document describe(const RowSweep& sweep, double threshold);
/// Includes the distances of the group's points.
Document describe(const GroupCertificates& certificates, const std::vector<PointDistances>& points);

/// The name of a class, or its number.
std::string class_text(std::int64_t of_class, const std::vector<std::string>& names);

/// The point of a row: index, label, predicted and target.
Document describe_point(const Row& row);

}  // namespace probust
