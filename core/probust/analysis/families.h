// SPDX-License-Identifier: MIT
//
// Groups the rows of one model and estimator by family of noise: rotate:5 and rotate:10 are both of the family "rotate".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "probust/analysis/groups.h"
#include "probust/analysis/statistics.h"
#include "probust/perturb/noise_family.h"

namespace probust {

/// The rows at one noise of a family.
struct FamilyStrength {
  std::string number;               ///< the part of the noise's text that differs within the family, such as "10"; may be empty
  const RowGroup* group = nullptr;  ///< the rows, owned by the caller
  MeanInterval p{};                 ///< mean p (RowGroup::mean_p)
  MeanInterval noisy{};             ///< accuracy under noise (noisy_accuracy)
};

struct FamilyRows {
  NoiseFamily family;
  std::vector<FamilyStrength> strengths{};  ///< in order of appearance
  /// Means of p and of the accuracy under noise, averaged first over the strengths for each point, then over the points.
  MeanInterval p{}, noisy{};
};

/// The families of these groups, which must be of one model and estimator. The family with the smallest mean p is first;
/// families without p are last.
std::vector<FamilyRows> families_of(std::span<const RowGroup* const> groups);

}  // namespace probust
