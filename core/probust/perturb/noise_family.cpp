// SPDX-License-Identifier: MIT
#include "probust/perturb/noise_family.h"

#include <algorithm>
#include <vector>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/noise/noise.h"
#include "probust/perturb/noise_list.h"
#include "probust/perturb/stage.h"

namespace probust {
namespace {

const perturb::Family* known_family(const std::string& part) {
  try {
    return perturb::family_in(part);
  } catch (const Error&) {  // such as a corruption that this version does not have
    return nullptr;
  }
}

std::string summary_of(const std::string& name) {
  for (const NoiseEntry& entry : noise_list()) {
    if (entry.name == name) return entry.summary;
  }
  return "";
}

NoiseFamily family_of_part(const std::string& part) {
  const perturb::Family* family = known_family(part);
  const bool own = perturb::is_own(part);
  const std::size_t end = family != nullptr ? family->name.size()
                          : own             ? part.find(':') + 1 + perturb::own_text(part).name.size()
                                            : std::min(part.size(), part.find_first_of(":@"));
  NoiseFamily found{part.substr(0, end), part.substr(std::min(part.size(), end + 1))};
  found.perturbs = family != nullptr || own;
  if (!own) found.summary = summary_of(found.name);
  return found;
}

std::string joined(const std::string& before, const std::string& after) {
  return before + (before.empty() || after.empty() ? "" : " + ") + after;
}

}  // namespace

NoiseFamily family_of_noise(const std::string& text) {
  NoiseFamily whole;
  std::vector<std::string> summaries;
  for (const std::string& part : perturb::parts_of(without_clipping(text))) {
    const NoiseFamily own = family_of_part(part);
    summaries.push_back(own.summary);
    whole.name = joined(whole.name, own.name);
    whole.number = joined(whole.number, own.number);
    whole.perturbs = whole.perturbs || own.perturbs;
  }
  const bool known = std::none_of(summaries.begin(), summaries.end(), [](const std::string& each) { return each.empty(); });
  if (known) whole.summary = join(summaries, ", then ");
  return whole;
}

}  // namespace probust
