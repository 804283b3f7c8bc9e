// SPDX-License-Identifier: MIT
#include <atomic>
#include <cmath>
#include <iterator>
#include <numeric>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/noise/columns.h"
#include "probust/noise/noise.h"

namespace probust {
namespace {

using Parse = Noise (*)(const std::string& parameters, const std::string& where, const NoiseSource& source);

struct Entry : AdditiveNoise {
  Parse parse;  ///< parses the text after "name:"
};

double parse_scale(const std::string& text, const std::string& where) {
  const auto scale = parse_double(text);
  if (!scale || !std::isfinite(*scale) || *scale <= 0)
    throw Error{ErrorCode::usage, where, "has a scale that is not a positive number", "try gaussian:0.1"};
  return *scale;
}

template <std::shared_ptr<const NoiseShape> (*shape)()>
Noise parse_scaled(const std::string& parameters, const std::string& where, const NoiseSource&) {
  return {shape(), parse_scale(parameters, where)};
}

using FromArray = std::shared_ptr<const NoiseShape> (*)(const NoiseArray&, std::string name);

std::shared_ptr<const NoiseShape> gaussian_of_variances(const NoiseArray& variances, std::string name) {
  NoiseArray deviations = variances;
  for (double& value : deviations.values) value = std::sqrt(value);  // NaN if negative, which is rejected later
  return diagonal_gaussian(deviations, std::move(name));
}

struct ArrayEntry {
  std::string_view key;
  FromArray shape;
};
constexpr ArrayEntry kGaussians[] = {
    {"std=", diagonal_gaussian}, {"diag=", gaussian_of_variances}, {"cov=", covariance_gaussian}, {"factor=", factor_gaussian}};

// Parses "FILE" or "FILE:0.5". `model` is the text before the file's name; it ends in a colon or an equals sign.
Noise parse_file(const std::string& model, const std::string& parameters, const std::string& where, const NoiseSource& source,
                 FromArray shape) {
  const std::size_t colon = parameters.rfind(':');
  const bool scaled = colon != std::string::npos && parse_double(parameters.substr(colon + 1));
  const std::string path = scaled ? parameters.substr(0, colon) : parameters;
  const double scale = scaled ? parse_scale(parameters.substr(colon + 1), where) : 1;
  if (!source.array) throw Error{ErrorCode::usage, where, "needs a file, but files cannot be read here", "try gaussian:0.1"};
  return {shape(source.array(path), model + path), scale};
}

// Parses "0.1", "cov=FILE" or "cov=FILE:0.5".
Noise parse_gaussian(const std::string& parameters, const std::string& where, const NoiseSource& source) {
  for (const auto& [key, shape] : kGaussians) {
    if (parameters.starts_with(key))
      return parse_file("gaussian:" + std::string(key), parameters.substr(key.size()), where, source, shape);
  }
  return parse_scaled<isotropic_gaussian>(parameters, where, source);
}

Noise parse_recorded(const std::string& parameters, const std::string& where, const NoiseSource& source) {
  if (parameters.empty()) throw Error{ErrorCode::usage, where, "does not name a file", "use samples:FILE.npy"};
  return parse_file("samples:", parameters, where, source, recorded_noise);
}

Noise parse_categorical(const std::string& parameters, const std::string& where, const NoiseSource& source) {
  if (parameters.empty() || !source.categories)
    throw Error{ErrorCode::usage, where,
                parameters.empty() ? "does not name a file" : "needs a file, but files cannot be read here",
                parameters.empty() ? "use categorical:FILE.json" : "try gaussian:0.1"};
  return {categorical_noise(source.categories(parameters), parameters), 1};
}

// The list of noise models; the README says how to add one.
constexpr Entry kModels[] = {
    {{"gaussian", "gaussian:0.1, gaussian:cov=FILE (or std=, diag=, factor=)", "gaussian:0.1", "adds normal noise to every value",
      "standard deviation", "0", "standard deviation in the units of the data"},
     parse_gaussian},
    {{"uniform", "uniform:0.1", "uniform:0.1", "adds uniform noise to every value", "half-width", "0",
      "half-width in the units of the data"},
     parse_scaled<uniform_noise>},
    {{"laplace", "laplace:0.1", "laplace:0.1", "adds heavy-tailed noise to every value", "scale", "0",
      "scale in the units of the data, 0.71 standard deviations"},
     parse_scaled<laplace_noise>},
    {{"samples", "samples:FILE (recorded deviations)", "samples:FILE.npy", "adds one of the deviations in a file", "file", "",
      "factor after the file name"},
     parse_recorded},
    {{"categorical", "categorical:FILE.json", "categorical:FILE.json", "changes categories with the probabilities in a file",
      "file", "", "not used"},
     parse_categorical},
};

const Entry* entry_of(const std::string& text) {
  for (const Entry& entry : kModels) {
    if (text.substr(0, text.find(':')) == entry.name) return &entry;
  }
  return nullptr;
}

// The position of the next plus sign that is followed by the name of a model; npos if there is none.
std::size_t next_part(const std::string& text, std::size_t from) {
  for (std::size_t plus = text.find('+', from); plus != std::string::npos; plus = text.find('+', plus + 1)) {
    if (entry_of(text.substr(plus + 1)) != nullptr) return plus;
  }
  return std::string::npos;
}

NoisePart parse_part(const std::string& text, const NoiseSource& source) {
  const std::string where = "noise '" + text + "'";
  const Entry* entry = entry_of(text);
  if (entry == nullptr) {
    throw Error{ErrorCode::usage, where, kUnknownNoise, "use one of " + known_additive_noise()};
  }
  const std::size_t at = text.rfind('@'), colon = text.find(':');
  const std::string model = text.substr(0, at);
  const std::string parameters = colon == std::string::npos ? "" : model.substr(std::min(model.size(), colon + 1));
  NoisePart part{entry->parse(parameters, where, source), {}};
  part.columns.all_but = true;  // all columns except none
  if (at != std::string::npos) part.columns = parse_columns(text.substr(at + 1), where);
  return part;
}

}  // namespace

std::vector<AdditiveNoise> additive_noise_models() { return {std::begin(kModels), std::end(kModels)}; }

std::string known_additive_noise() {
  std::vector<std::string> forms;
  for (const Entry& entry : kModels) forms.emplace_back(entry.written);
  return join(forms);
}

bool begins_with_additive_noise(const std::string& text) { return entry_of(text) != nullptr; }

NoiseShape::NoiseShape() {
  static std::atomic<std::uint64_t> made{0};
  serial_ = ++made;
}

std::string NoiseShape::text(double scale) const { return name() + ":" + shortest_text(scale); }

Noise bound(Noise noise, const Shape& point) {
  if (auto shape = noise.shape->bound(point)) noise.shape = std::move(shape);
  return noise;
}

void NoiseShape::fit(std::int64_t, std::int64_t) const {}

std::vector<std::int64_t> NoiseShape::columns(std::int64_t elements) const {
  std::vector<std::int64_t> all(static_cast<std::size_t>(elements));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::optional<std::vector<ElementLaw>> NoiseShape::laws(std::uint32_t point, std::int64_t elements) const {
  const std::optional<ElementNoise> noise = by_element();
  if (!noise) return std::nullopt;
  std::vector<ElementLaw> laws(static_cast<std::size_t>(elements), {noise->draw, 1, noise->range});
  for (std::int64_t e = 0; e < elements && !noise->deviations.empty(); ++e)
    laws[e].deviation = noise->deviations[(noise->varies ? std::int64_t{point} * elements : 0) + e];
  return laws;
}

void NoiseShape::add_normals(std::span<const std::uint32_t>, std::int64_t, float, const float*, float*) const {
  throw Error{ErrorCode::usage, name(), "is not a function of standard normal variables", ""};
}

Noise parse_additive_noise(const std::string& text, const NoiseSource& source) {
  std::vector<NoisePart> parts;
  for (std::size_t start = 0, end = 0; end != std::string::npos; start = end + 1) {
    end = next_part(text, start);
    parts.push_back(parse_part(text.substr(start, end == std::string::npos ? end : end - start), source));
  }
  if (parts.size() > 1) return {mixture(std::move(parts)), 1};
  auto [noise, columns, parameters] = std::move(parts[0]);
  if (columns.all_but && columns.listed.empty()) return noise;
  return {on_columns(noise.shape, columns), noise.scale};
}

}  // namespace probust
