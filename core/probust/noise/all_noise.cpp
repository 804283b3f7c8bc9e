// SPDX-License-Identifier: MIT
#include <atomic>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/noise/columns.h"
#include "probust/noise/noise.h"

namespace probust {
namespace {

/// The text of a noise model after "name:".
struct NoiseText {
  const std::string& parameters;
  const std::string& where;  ///< the whole text, for messages
  std::string_view example;  ///< for hints
  const NoiseSource& source;

  [[noreturn]] void refuse(const std::string& problem, const std::string& hint = "") const {
    throw Error{ErrorCode::usage, where, problem, hint.empty() ? "try " + std::string(example) : hint};
  }
};

using Parse = Noise (*)(const NoiseText& text);

struct Entry : AdditiveNoise {
  Parse parse;
};

double parse_scale(const std::string& number, const NoiseText& text) {
  const auto scale = parse_double(number);
  if (!scale || !std::isfinite(*scale) || *scale <= 0) text.refuse("has a scale that is not a positive number");
  return *scale;
}

template <std::shared_ptr<const NoiseShape> (*shape)()>
Noise parse_scaled(const NoiseText& text) {
  return {shape(), parse_scale(text.parameters, text)};
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

// The path and the factor in "FILE" or "FILE:0.5".
struct ScaledFile {
  std::string path;
  double scale = 1;
};
ScaledFile parse_path(const std::string& parameters, const NoiseText& text) {
  if (parameters.empty()) text.refuse("does not name a file", "use " + std::string(text.example));
  if (!text.source.array) text.refuse("needs a file, but files cannot be read here", "try gaussian:0.1");
  const std::size_t colon = parameters.rfind(':');
  if (colon == std::string::npos || !parse_double(parameters.substr(colon + 1))) return {parameters};
  return {parameters.substr(0, colon), parse_scale(parameters.substr(colon + 1), text)};
}

// `model` is the text before the file's name; it ends in a colon or an equals sign.
Noise parse_file(const std::string& model, const std::string& parameters, const NoiseText& text, FromArray shape) {
  const auto [path, scale] = parse_path(parameters, text);
  return {shape(text.source.array(path), model + path), scale};
}

// Parses "0.1", "cov=FILE" or "cov=FILE:0.5".
Noise parse_gaussian(const NoiseText& text) {
  for (const auto& [key, shape] : kGaussians) {
    if (text.parameters.starts_with(key))
      return parse_file("gaussian:" + std::string(key), text.parameters.substr(key.size()), text, shape);
  }
  return parse_scaled<isotropic_gaussian>(text);
}

Noise parse_recorded(const NoiseText& text) { return parse_file("samples:", text.parameters, text, recorded_noise); }

Noise parse_categorical(const NoiseText& text) {
  if (text.parameters.empty()) text.refuse("does not name a file", "use " + std::string(text.example));
  if (!text.source.categories) text.refuse("needs a file, but files cannot be read here", "try gaussian:0.1");
  return {categorical_noise(text.source.categories(text.parameters), text.parameters), 1};
}

// The factor of a drift is part of its shape, because a graph with the drift as a constant has no scale.
Noise parse_drift(const NoiseText& text) {
  const auto [path, scale] = parse_path(text.parameters, text);
  NoiseArray means = text.source.array(path);
  for (double& value : means.values) value *= scale;
  return {drift_noise(means, "drift:" + path + (scale == 1 ? "" : ":" + shortest_text(scale))), 1};
}

// Parses a scale and one option, which begins with `option`, in any order: "0.1:df=3" or "df=3:0.1".
struct ScaleWithOption {
  double scale;
  std::optional<std::string> option;  ///< the text after `option`
};
ScaleWithOption parse_option(const NoiseText& text, const std::string& option) {
  std::optional<double> scale;
  std::optional<std::string> found;
  for (const std::string& part : split(text.parameters, ':')) {
    if (part.starts_with(option) && !found) {
      found = part.substr(option.size());
    } else if (!scale) {
      scale = parse_scale(part, text);
    } else {
      text.refuse("has an unknown part '" + part + "'");
    }
  }
  if (!scale) text.refuse("has no scale");
  return {*scale, std::move(found)};
}

Noise parse_student(const NoiseText& text) {
  const auto [scale, option] = parse_option(text, "df=");
  const auto freedom = parse_double(option.value_or(""));
  if (!freedom || !(*freedom >= 1 && *freedom <= 1e6)) text.refuse("needs degrees of freedom from 1 to 1e6");
  return {student_noise(*freedom), scale};
}

Noise parse_field(const NoiseText& text) {
  const auto [scale, option] = parse_option(text, "length=");
  const auto length = parse_double(option.value_or(""));
  if (!length || !std::isfinite(*length) || *length <= 0) text.refuse("needs a positive correlation length");
  return {field_noise(*length), scale};
}

Noise parse_data_covariance(const NoiseText& text) {
  const auto [scale, option] = parse_option(text, "unit-trace");
  if (!option.value_or("").empty()) text.refuse("has an unknown part 'unit-trace" + *option + "'");
  return {data_covariance(option.has_value()), scale};
}

// Parses a probability or a share, "0.1" or "0.1=VALUE".
struct ShareWithValue {
  double share;
  std::optional<std::string> value;
};
ShareWithValue parse_share(const NoiseText& text) {
  const std::size_t equals = text.parameters.find('=');
  const auto share = parse_double(text.parameters.substr(0, equals));
  if (!share || !(*share > 0 && *share <= 1)) text.refuse("needs a number above 0 and at most 1 after its name");
  if (equals == std::string::npos) return {*share, {}};
  return {*share, text.parameters.substr(equals + 1)};
}

double parse_value(const std::string& value, const NoiseText& text) {
  const auto number = parse_double(value);
  if (!number || !std::isfinite(static_cast<float>(*number)))
    text.refuse("replaces values by '" + value + "', which is not a number");
  return *number;
}

Noise parse_missing(const NoiseText& text) {
  const auto [share, value] = parse_share(text);
  if (!value) text.refuse("does not name the replacement", "write missing:0.1=mean or missing:0.1=0");
  return {missing_noise(share, *value == "mean" ? std::nullopt : std::optional(parse_value(*value, text))), 1};
}

Noise parse_resampled(const NoiseText& text) {
  const auto [share, value] = parse_share(text);
  if (value) text.refuse("has a value, but draws values from the data");
  return {resampled_noise(share), 1};
}

Noise parse_gaps(const NoiseText& text) {
  const auto [share, value] = parse_share(text);
  return {gap_noise(share, value ? std::optional(parse_value(*value, text)) : std::nullopt), 1};
}

// The list of noise models; the README says how to add one.
constexpr Entry kModels[] = {
    {{"gaussian", "gaussian:0.1, gaussian:cov=FILE (or std=, diag=, factor=)", "gaussian:0.1", "adds normal noise to every value",
      "standard deviation", "0", "standard deviation in the units of the data", "S"},
     parse_gaussian},
    {{"uniform", "uniform:0.1", "uniform:0.1", "adds uniform noise to every value", "half-width", "0",
      "half-width in the units of the data", "S / √3"},
     parse_scaled<uniform_noise>},
    {{"laplace", "laplace:0.1", "laplace:0.1", "adds heavy-tailed noise to every value", "scale", "0",
      "scale in the units of the data, 0.71 standard deviations", "√2 S"},
     parse_scaled<laplace_noise>},
    {{"student", "student:0.1:df=3", "student:0.1:df=3", "adds Student's t to every value", "scale", "0",
      "factor of t in the units of the data", "S √(df / (df - 2)), infinite for df of at most 2"},
     parse_student},
    {{"ball", "ball:0.5", "ball:0.5", "adds a deviation uniform in the ball", "radius", "0", "Euclidean radius", "S / √(d + 2)"},
     parse_scaled<ball_noise>},
    {{"sphere", "sphere:0.5", "sphere:0.5", "adds a deviation uniform on the sphere", "radius", "0", "Euclidean radius",
      "S / √d"},
     parse_scaled<sphere_noise>},
    {{"data-covariance", "data-covariance:0.1", "data-covariance:0.1", "adds normal noise with the covariance of the data",
      "factor", "0", "factor of the data's deviations", "S times that of the column"},
     parse_data_covariance},
    {{"field", "field:0.1:length=3", "field:0.1:length=3", "adds normal noise, correlated along the last axis",
      "standard deviation", "0", "standard deviation in the units of the data", "S"},
     parse_field},
    {{"samples", "samples:FILE (recorded deviations)", "samples:FILE.npy", "adds one of the deviations in a file", "file", "",
      "factor after the file name", "S times that of the file"},
     parse_recorded},
    {{"categorical", "categorical:FILE.json", "categorical:FILE.json", "changes categories with the probabilities in a file",
      "file", "", "not used", ""},
     parse_categorical},
    {{"speckle", "speckle:0.1", "speckle:0.1", "multiplies every value by 1 + S z", "relative standard deviation", "0",
      "standard deviation relative to the value", "S abs(x)", true},
     parse_scaled<speckle_noise>},
    {{"lognormal", "lognormal:0.1", "lognormal:0.1", "multiplies every value by e^(S z)", "standard deviation of the logarithm",
      "0", "standard deviation of the logarithm of the factor",
      "abs(x) √(e^(2 S²) - e^(S²)); the median is x, the mean x e^(S² / 2)", true},
     parse_scaled<lognormal_noise>},
    {{"gain", "gain:0.1", "gain:0.1", "multiplies each row of the last axis by 1 + S z", "relative standard deviation", "0",
      "standard deviation of the factor", "S abs(x)", true},
     parse_scaled<gain_noise>},
    {{"drift", "drift:FILE", "drift:FILE.npy", "adds the numbers in a file to every sample", "file", "",
      "factor after the file name", "0", true},
     parse_drift},
    {{"missing", "missing:0.1=mean", "missing:0.1=mean", "replaces values by the mean of the data or by a number", "probability",
      "0", "probability for each value", "abs(x - value) √(P (1 - P))", true},
     parse_missing},
    {{"resample", "resample:0.1", "resample:0.1", "replaces values by those of random points", "probability", "0",
      "probability for each value", "", true},
     parse_resampled},
    {{"gaps", "gaps:0.1", "gaps:0.1", "replaces a stretch of the last axis by the value before it or by a number", "share", "0",
      "share of the last axis", "", true},
     parse_gaps},
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

constexpr std::string_view kPerRoot = "/sqrt(d)";

// Parses "0.3/sqrt(d)". Not inlined, so that browsers download it only when needed (wasm/split).
[[gnu::noinline]] Noise parse_per_root(const Entry& entry, std::string parameters, const std::string& where,
                                       const NoiseSource& source) {
  parameters.erase(parameters.find(kPerRoot), kPerRoot.size());
  const NoiseText text{parameters, where, entry.example, source};
  Noise noise = entry.parse(text);
  if (!noise.shape->additive()) text.refuse("divides by sqrt(d), but is not added", "leave out /sqrt(d)");
  return {per_root_of_elements(noise.shape), noise.scale};
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
  const bool per_root = parameters.find(kPerRoot) != std::string::npos;
  NoisePart part{
      per_root ? parse_per_root(*entry, parameters, where, source) : entry->parse({parameters, where, entry->example, source}),
      {}};
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

bool is_step(const std::string& part) {
  const Entry* entry = entry_of(part);
  return entry != nullptr && entry->step;
}

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
