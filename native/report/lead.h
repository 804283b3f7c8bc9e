// SPDX-License-Identifier: MIT
//
// The one estimator and the one noise that a report shows of a run with more rows than a reader wants.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "probust/analysis/groups.h"
#include "probust/analysis/ranking.h"

namespace probust::report {

/// The rows of one model that a report shows first.
struct Lead {
  std::string model, estimator;           ///< the estimator with p for the most points; of several, the first requested one
  std::vector<const RowGroup*> noises{};  ///< its rows at each noise, in order of appearance; the caller's
  std::size_t widest = 0;                 ///< the one of them at which p differs most between points

  const RowGroup& at_widest() const { return *noises[widest]; }

  /// At most four of `noises`: if there are more, the first, the widest and the last.
  std::vector<const RowGroup*> few() const;
};

/// One for each model, in order of first appearance.
std::vector<Lead> leads_of(std::span<const RowGroup> groups);

/// The least and the most robust points of each model, at its widest noise.
std::vector<Ranking> rankings_of(std::span<const Lead> leads);

}  // namespace probust::report
