// SPDX-License-Identifier: MIT
#include "probust/perturb/noise_list.h"

#include <algorithm>
#include <cmath>

#include "probust/base/text.h"

namespace probust {
namespace {

using perturb::Family;
using perturb::Link;
using perturb::Parameter;

constexpr std::array kGaussianStrengths = {0.02, 0.05, 0.1};

// A parameter with its unit: "angle in degrees", "share of the image".
std::string text_of(const Parameter& parameter) {
  std::string text(parameter.name);
  if (parameter.unit.empty() || parameter.unit == parameter.name) return text;
  const bool phrase = parameter.unit.starts_with("of ") || parameter.unit.starts_with("at ");
  return text + (phrase ? " " : " in ") + std::string(parameter.unit);
}

std::string names_from(const Family& family, std::size_t first) {
  std::vector<std::string> names;
  for (std::size_t k = first; k < family.parameters.size(); ++k) names.emplace_back(family.parameters[k].name);
  return join(names, " and ");
}

// The parameters that a single number determines: the first one or, if the number is a scale, all of them; these have the same
// unit.
std::string parameters_of_number(const Family& family) {
  const std::string first = text_of(family.parameters[0]);
  if (family.number == Family::Number::value || family.parameters.size() == 1) return first;
  return names_from(family, 0) + first.substr(family.parameters[0].name.size());
}

std::string meaning_of_number(const Family& family) {
  const std::string what = parameters_of_number(family);
  if (family.number == Family::Number::value) {
    const std::string others = names_from(family, 1);
    return what + ", fixed" + (others.empty() ? "" : "; " + others + " are random");
  }
  switch (family.parameters[0].link) {
    case Link::plain:
      return "standard deviation of the " + what;
    case Link::exponential:
      return "standard deviation of the logarithm of the " + what;
    case Link::magnitude:
      return "root mean square of the " + what;
  }
  return {};
}

std::string identity_of(const Parameter& parameter) {
  if (std::isinf(parameter.identity)) return "∞";
  const bool possible = parameter.identity >= parameter.lowest && parameter.identity <= parameter.highest;
  return possible ? shortest_text(parameter.identity) : "";
}

NoiseEntry entry_of(const Family& family) {
  return {std::string(family.name),
          std::string(family.summary),
          parameters_of_number(family),
          identity_of(family.parameters[0]),
          meaning_of_number(family),
          example_of(family),
          {},
          false,
          &family};
}

SurveyedNoise surveyed(const NoiseEntry& entry, const std::array<double, 3>& strengths) {
  SurveyedNoise noise{entry, {}, {}};
  for (std::size_t k = 0; k < strengths.size(); ++k) {
    noise.numbers[k] = shortest_text(strengths[k]);
    noise.noises[k] = entry.name + ":" + noise.numbers[k];
  }
  return noise;
}

}  // namespace

std::vector<NoiseEntry> noise_list() {
  std::vector<NoiseEntry> list;
  for (const AdditiveNoise& model : additive_noise_models())
    list.push_back({std::string(model.name), std::string(model.summary), std::string(model.parameter),
                    std::string(model.identity), std::string(model.number), std::string(model.example),
                    std::string(model.deviation), model.step});
  for (const Family& family : perturb::families()) list.push_back(entry_of(family));
  return list;
}

std::vector<SurveyedNoise> surveyed_noises(const Image& image) {
  std::vector<SurveyedNoise> noises;
  for (const NoiseEntry& entry : noise_list()) {
    if (entry.name == "gaussian") noises.push_back(surveyed(entry, kGaussianStrengths));
    if (entry.family != nullptr && entry.family->strengths[1] != 0)
      noises.push_back(surveyed(entry, strengths_for(*entry.family, image)));
  }
  return noises;
}

}  // namespace probust
