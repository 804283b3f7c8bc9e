// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <vector>

#include "probust/perturb/family.h"

namespace probust {

/// An additive noise model, or a family of perturbations of images, as people read it.
struct NoiseEntry {
  std::string name;
  std::string summary;    ///< what it does: "turns the image about its centre"
  std::string parameter;  ///< with its unit: "angle in degrees"
  std::string identity;   ///< its value that changes nothing; empty if it is not a number
  std::string number;     ///< the meaning of a number after the name: "standard deviation of the angle in degrees"
  std::string example;    ///< how it is written: "rotate:10"
  const perturb::Family* family = nullptr;  ///< null: additive noise
};

/// All noise that parse_noise knows by name, additive noise first.
std::vector<NoiseEntry> noise_list();

/// The weak, medium and strong noise of surveys, which are perturbations, after Gaussian noise as a reference.
struct SurveyedNoise {
  NoiseEntry entry;
  std::array<std::string, 3> noises;  ///< for parse_noise
  std::array<std::string, 3> numbers;
};
std::vector<SurveyedNoise> surveyed_noises(const Image& image);

}  // namespace probust
