// SPDX-License-Identifier: MIT
// The list of the families of perturbations.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "probust/base/text.h"
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

std::array<double, 3> strengths_for(const Family& family, const Image& image) {
  constexpr double kSide = 32;  // side of the images for which strengths in pixels are given
  std::array<double, 3> strengths = family.strengths;
  if (family.parameters.empty() || family.parameters[0].unit != "pixels") return strengths;
  for (double& strength : strengths) {
    const double scaled = strength * static_cast<double>(std::min(image.rows, image.columns)) / kSide;
    strength = *parse_double(fmt::format("{:.2g}", scaled));
  }
  return strengths;
}

std::string example_of(const Family& family) {
  const bool pixels = family.parameters[0].unit == "pixels";
  const std::string usual = family.number == Family::Number::value ? std::string(family.example) : pixels ? "2" : "0.1";
  return std::string(family.name) + ":" + (family.strengths[1] != 0 ? shortest_text(family.strengths[1]) : usual);
}

}  // namespace probust::perturb
