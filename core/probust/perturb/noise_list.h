// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <vector>

#include "probust/perturb/family.h"

namespace probust {

/// A description of a noise model on values or of a family of perturbations.
struct NoiseEntry {
  std::string name;
  std::string summary;      ///< what the noise does: "turns the image about its centre"
  std::string parameter;    ///< the parameter with its unit: "angle in degrees"
  std::string identity;     ///< the value of the parameter that changes nothing; empty if it is not a number
  std::string number;       ///< the meaning of a number after the name: "standard deviation of the angle in degrees"
  std::string example;      ///< an example of the noise's text: "rotate:10"
  std::string deviation{};  ///< the standard deviation of a value; empty for perturbations
  bool step = false;        ///< AdditiveNoise::step
  const perturb::Family* family = nullptr;  ///< null for noise on values
};

/// All noise models that parse_noise accepts by name, noise on values first.
std::vector<NoiseEntry> noise_list();

/// A noise model at a weak, a medium and a strong level, for surveys. `surveyed_noises` begins with Gaussian noise as a
/// reference; the others are perturbations.
struct SurveyedNoise {
  NoiseEntry entry;
  std::array<std::string, 3> noises;  ///< noise texts for parse_noise
  std::array<std::string, 3> numbers;
};
std::vector<SurveyedNoise> surveyed_noises(const Image& image);

}  // namespace probust
