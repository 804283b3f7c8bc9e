// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probust/perturb/stage.h"

namespace probust::perturb {

/// The name of a noise, and its text at a scale.
struct NoiseName {
  std::string name;
  bool scaled = false;   ///< whether the text is "name:scale"
  std::string suffix{};  ///< after the scale
  std::string text(double scale) const;
};

/// Noise that applies these stages, all of which map, to points that are images of this shape, and clips the result to `clip`, if
/// given, whose levels are ignored.
std::shared_ptr<const NoiseShape> mapped_noise(const NoiseName& name, std::vector<Stage> stages, const Image& image,
                                               const std::optional<Quantization>& clip);

/// Noise that draws a family that is no map.
std::shared_ptr<const NoiseShape> drawn_noise(const NoiseName& name, Stage stage, const Image& image);

/// Noise that calls a user's function.
std::shared_ptr<const NoiseShape> called_noise(const NoiseName& name, OwnPerturbation own, const Image& image);

/// Noise that applies these one after the other.
std::shared_ptr<const NoiseShape> noise_sequence(const NoiseName& name, std::vector<Noise> parts);

}  // namespace probust::perturb
