// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace probust {

/// The family and the number of a noise model, from its text in rows.
struct NoiseFamily {
  std::string name;       ///< such as "rotate" or "corruption:fog", or "rotate + gaussian" for a sequence
  std::string number;     ///< such as "10", "uniform(-30,30)" or, for a sequence, "5 + 0.05"; empty if there is none
  std::string summary{};  ///< what the noise does, such as "turns the image about its centre"; empty if unknown
  bool perturbs = false;  ///< whether the noise contains a perturbation of images
};

/// The family of a noise, without its clipping. An unknown name is a family of its own.
NoiseFamily family_of_noise(const std::string& text);

}  // namespace probust
