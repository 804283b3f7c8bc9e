// SPDX-License-Identifier: MIT
//
// Selects one estimator per model, and one noise, for the main charts and tables, because a run may have more rows than a
// reader wants to see.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "probust/analysis/groups.h"
#include "probust/analysis/ranking.h"

namespace probust::report {

/// The rows of one model that a report shows first.
struct Focus {
  std::string model, estimator;  ///< the model, and the estimator with p for the most points (in a tie, the one requested first)
  std::vector<const RowGroup*> noises{};  ///< the caller's row groups, one for each noise, in order of appearance
  std::size_t widest = 0;                 ///< the index of the noise at which p varies most between points

  const RowGroup& at_widest() const { return *noises[widest]; }

  /// All `noises` if there are at most four; otherwise, the first, the widest and the last.
  std::vector<const RowGroup*> few() const;
};

/// One entry per model, in order of first appearance.
std::vector<Focus> focuses_of(std::span<const RowGroup> groups);

/// The least and the most robust points of each model, at its widest noise.
std::vector<Ranking> rankings_of(std::span<const Focus> focuses);

}  // namespace probust::report
