// SPDX-License-Identifier: MIT
// The list of the families of perturbations.
#include <algorithm>
#include <utility>

#include "probust/perturb/family.h"

namespace probust::perturb {

std::span<const Family> families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> list;
    for (const auto group : {geometry, light, optics, sensor, transmission, corruptions}) {
      for (Family& family : group()) list.push_back(std::move(family));
    }
    return list;
  }();
  return all;
}

const Family* family_of(std::string_view name) {
  const auto all = families();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Family& family) { return family.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace probust::perturb
