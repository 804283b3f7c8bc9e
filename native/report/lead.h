// SPDX-License-Identifier: MIT
//
// Selects one estimator and one noise per model, because a run may have more rows than a reader wants.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "probust/analysis/groups.h"
#include "probust/analysis/ranking.h"

namespace probust::report {

/// The rows of one model that a report shows first.
struct Lead {
  std::string model, estimator;  ///< the estimator with p for the most points; if there are several, the one requested first
  std::vector<const RowGroup*> noises{};  ///< rows of the caller for each noise, in order of appearance
  std::size_t widest = 0;                 ///< the index of the noise at which p differs most between points

  const RowGroup& at_widest() const { return *noises[widest]; }

  /// At most four of `noises`. If there are more, the first one, the widest and the last.
  std::vector<const RowGroup*> few() const;
};

/// One entry per model, in order of first appearance.
std::vector<Lead> leads_of(std::span<const RowGroup> groups);

/// The least and the most robust points of each model, at its widest noise.
std::vector<Ranking> rankings_of(std::span<const Lead> leads);

}  // namespace probust::report
