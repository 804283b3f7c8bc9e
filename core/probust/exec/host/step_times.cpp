// SPDX-License-Identifier: MIT
#include "probust/exec/host/step_times.h"

#include <algorithm>

namespace probust {

std::vector<KindTime> by_kind(const std::vector<ProgramStep>& steps, const std::vector<double>& seconds, const Batch& batch) {
  std::vector<KindTime> kinds;
  for (std::size_t i = 0; i < steps.size() && i < seconds.size(); ++i) {
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const KindTime& known) { return known.kind == steps[i].kind; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {steps[i].kind});
    ++kind->steps;
    kind->seconds += seconds[i];
    kind->flops += steps[i].flops * static_cast<double>(batch.lanes(steps[i].extent));
  }
  std::stable_sort(kinds.begin(), kinds.end(), [](const KindTime& a, const KindTime& b) { return a.seconds > b.seconds; });
  return kinds;
}

}  // namespace probust
