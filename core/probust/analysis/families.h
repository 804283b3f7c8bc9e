// SPDX-License-Identifier: MIT
//
// The rows of one model and estimator by family of noise: "rotate" has those of rotate:5 and rotate:10.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "probust/analysis/groups.h"
#include "probust/analysis/statistics.h"
#include "probust/perturb/noise_family.h"

namespace probust {

/// The rows of one noise of a family.
struct FamilyStrength {
  std::string number;               ///< what distinguishes it within its family, "10"; may be empty
  const RowGroup* group = nullptr;  ///< owned by the caller
  MeanInterval p{};                 ///< RowGroup::mean_p
  MeanInterval noisy{};             ///< accuracy under noise (noisy_accuracy)
};

struct FamilyRows {
  NoiseFamily family;
  std::vector<FamilyStrength> strengths{};  ///< in order of appearance
  /// p and the accuracy under noise, averaged over the strengths for each point first.
  MeanInterval p{}, noisy{};
};

/// The families of these groups, which are of one model and estimator: the smallest mean p first; those without p last.
std::vector<FamilyRows> families_of(std::span<const RowGroup* const> groups);

}  // namespace probust
