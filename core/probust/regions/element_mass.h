// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/noise/noise.h"
#include "probust/regions/step_model.h"

namespace probust {

/// P(a noisy sample of an element is below the cut), and the probability that it is not, computed directly.
struct CutMass {
  double below, above;
};

/// The mass of a cut for an element x with this law at this noise scale. x must not be NaN.
CutMass mass_at(const ElementLaw& law, double scale, double x, const Cut& cut);

/// The probabilities of the intervals between the cuts of one element. Cell k lies between cuts k - 1 and k. The mass of a cut is
/// computed when it is first needed.
class ElementMass {
 public:
  /// `cuts` must outlive this object.
  ElementMass(const ElementLaw& law, double scale, double x, std::span<const Cut> cuts);

  /// P(the element is in one of the cells first .. last). Nothing cancels if they are in one tail.
  double of(std::int64_t first, std::int64_t last) {
    const CutMass &low = at(first), &high = at(last + 1);
    return low.below > 0.5 ? low.above - high.above : high.below - low.below;
  }

 private:
  const CutMass& at(std::int64_t k) {
    CutMass& own = masses_[static_cast<std::size_t>(k)];
    if (own.below < 0) own = mass_at(law_, scale_, x_, cuts_[static_cast<std::size_t>(k) - 1]);
    return own;
  }

  ElementLaw law_;
  double scale_, x_;
  std::span<const Cut> cuts_;
  std::vector<CutMass> masses_;  // the cuts, between one at -infinity and one at infinity; negative if unknown
};

}  // namespace probust
