// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace probust {

/// What the text of a noise model, as rows have it, says to a reader.
struct NoiseFamily {
  std::string name;       ///< "rotate", "corruption:fog", "rotate + gaussian" for a sequence
  std::string number;     ///< "10", "uniform(-30,30)", "5 + 0.05"; empty if there is none
  std::string summary{};  ///< what it does: "turns the image about its centre"; empty if that is not known
  bool perturbs = false;  ///< whether a perturbation of images is in it
};

/// The family of a noise; clipping is left out. An unknown name is a family of its own.
NoiseFamily family_of_noise(const std::string& text);

}  // namespace probust
