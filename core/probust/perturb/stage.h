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
  double low = 0;   ///< fixed: the value; normal: the scale s in t = s z (Link); uniform: the lower bound
  double high = 0;  ///< uniform: the upper bound
};

/// One step of a sequence of perturbations: a family with the distributions of its parameters, or additive noise.
struct Stage {
  const Family* family = nullptr;
  std::vector<Distribution> theta{};  ///< [parameters]
  Border border{};
  Noise noise{};  ///< the noise on values, if there is no family
  /// The user's perturbation, if it has a graph or a function; the stage then has neither a family nor other noise.
  OwnPerturbation own{};
  std::string text;  ///< canonical text of the stage, without the scale if `scale` is one
  /// The scale of all parameters, if the text gives it as one number. A different scale does not need another graph.
  std::optional<double> scale{};

  /// Whether a graph can compute the stage.
  bool maps() const {
    if (own.latents > 0) return own.graph != nullptr;
    if (family != nullptr) return family->map != nullptr;
    return noise.shape->additive() || noise.shape->map() != nullptr;
  }
};

/// Parses the stage of a family, such as "rotate:10", "rotate:uniform(-30,30)" or "rotate:fill=reflect:10". Throws Error{usage}.
Stage parse_stage(const Family& family, const std::string& text);

/// The numbers in "name(a,b)"; empty if the text has another form.
std::optional<std::vector<double>> arguments_of(const std::string& text, std::string_view name);

/// Parses "transform:NAME" or "transform:NAME:scale"; `source` has the perturbation of this name. Throws Error{usage}.
Stage own_stage(const std::string& text, const NoiseSource& source);

/// Splits a text at the characters outside parentheses for whose positions `separates` returns true.
template <class Separates>
std::vector<std::string> split_outside_parentheses(const std::string& text, const Separates& separates) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0 && separates(i))
      parts.emplace_back();
    else
      parts.back() += text[i];
  }
  return parts;
}

/// The parts of a sequence. The text is split at every plus sign that is outside parentheses and is followed by the name of a
/// noise model.
std::vector<std::string> parts_of(const std::string& text);

/// The family whose name begins this part of a sequence, up to a colon or the end: "corruption:fog" for "corruption:fog:3". If
/// several names match, the longest one counts; null if none does. Throws Error{usage} for an unknown corruption.
const Family* family_in(const std::string& part);

/// Whether a part of a sequence is a user's own perturbation, "transform:NAME".
bool is_own(const std::string& part);

/// The name and the scale in "transform:NAME:0.5"; the scale is empty if the text ends with the name.
struct OwnText {
  std::string name;
  std::optional<double> scale{};
};
OwnText own_text(const std::string& part);

/// The number of normal variables of a stage's parameters.
std::int64_t random_parameters(const Stage& stage);

/// The parameters theta for these normals [random_parameters]. If the stage has a scale, the normals are multiplied by `scale`.
std::vector<double> parameters_of(const Stage& stage, std::span<const float> normals, double scale);

/// Noise that applies these stages one after the other and then clips to `clip`, if given.
Noise sequence(std::vector<Stage> stages, std::optional<Quantization> clip = {});

}  // namespace probust::perturb
