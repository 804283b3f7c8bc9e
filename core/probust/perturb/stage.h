// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probust/perturb/family.h"

namespace probust::perturb {

/// The distribution of a parameter theta, as a function of a standard normal z.
struct Distribution {
  enum class Kind : std::uint8_t { normal, uniform, fixed } kind = Kind::normal;
  double low = 0;   ///< fixed: the value. normal: the scale s of t = s z, from which theta follows (Link)
  double high = 0;  ///< uniform between low and high
};

/// One step of a sequence of perturbations: a family with the distributions of its parameters, or additive noise.
struct Stage {
  const Family* family = nullptr;
  std::vector<Distribution> theta{};  ///< [parameters]
  Border border{};
  Noise noise{};          ///< if there is no family
  OwnPerturbation own{};  ///< if it has a graph or a function: the user's, instead of a family or noise
  std::string text;       ///< canonical, without the scale if `scale` is one
  /// The scale of all parameters, if one number gives it: it can vary without another graph.
  std::optional<double> scale{};

  /// Whether a graph computes it.
  bool maps() const {
    if (own.latents > 0) return own.graph != nullptr;
    return family != nullptr ? family->map != nullptr : noise.shape->additive();
  }
};

/// The stage of "rotate:10", "rotate:uniform(-30,30)", "rotate:fill=reflect:10" and the like, for a family. Throws Error{usage}.
Stage parse_stage(const Family& family, const std::string& text);

/// "name(a,b)" as its numbers; empty if the text has another form.
std::optional<std::vector<double>> arguments_of(const std::string& text, std::string_view name);

/// The stage of "transform:NAME" or "transform:NAME:scale" with what `source` gives for the name. Throws Error{usage}.
Stage own_stage(const std::string& text, const NoiseSource& source);

/// The number of normal variables of a stage's parameters.
std::int64_t random_parameters(const Stage& stage);

/// theta of these normals [random_parameters]; each times `scale` if the stage has a scale.
std::vector<double> parameters_of(const Stage& stage, std::span<const float> normals, double scale);

/// Noise that applies these stages one after the other; `clip` at the end, if given.
Noise sequence(std::vector<Stage> stages, std::optional<Quantization> clip = {});

}  // namespace probust::perturb
