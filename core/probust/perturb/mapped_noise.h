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
  bool scaled = false;   ///< whether the text contains the scale: "name:scale"
  std::string suffix{};  ///< text after the scale
  std::string text(double scale) const;
};

/// Noise that applies these stages, all of which are maps (Stage::maps), to points that are images of this shape. If `clip` is
/// given, it also clips the result to that range, without rounding.
std::shared_ptr<const NoiseShape> mapped_noise(const NoiseName& name, std::vector<Stage> stages, const Image& image,
                                               const std::optional<Quantization>& clip);

/// Noise of a stage whose family is drawn by a function (Family::draw).
std::shared_ptr<const NoiseShape> drawn_noise(const NoiseName& name, Stage stage, const Image& image);

/// Noise computed by a user's function.
std::shared_ptr<const NoiseShape> called_noise(const NoiseName& name, OwnPerturbation own, const Image& image);

/// Noise that applies these noises one after the other.
std::shared_ptr<const NoiseShape> noise_sequence(const NoiseName& name, std::vector<Noise> parts);

}  // namespace probust::perturb
