// SPDX-License-Identifier: MIT
// The grammar of estimators: NAME, NAME:PARAMETER or NAME:PARAMETER:VARIANT.
#include <algorithm>
#include <cmath>
#include <utility>

#include "probust/base/text.h"
#include "probust/estimators/common.h"

namespace probust {
namespace {

using Parameter = EstimatorDefinition::Parameter;
using Share = EstimatorDefinition::Share;

std::string example(const EstimatorDefinition& entry) {
  std::string text(entry.name);
  if (entry.parameter == Parameter::samples) text += ":" + std::to_string(std::max<std::int64_t>(100, entry.least));
  if (entry.parameter == Parameter::temperature) text += ":1";
  if (entry.parameter == Parameter::half_width) text += ":±0.01";
  if (entry.parameter == Parameter::threshold) text += ":p>0.95";
  if (!entry.variant.empty()) text += ":" + std::string(entry.variant);
  return text;
}

}  // namespace

std::string known_estimators(const std::function<bool(const EstimatorDefinition&)>& wanted) {
  std::vector<std::string> forms;
  for (const EstimatorDefinition& entry : all_estimators()) {
    if (wanted ? wanted(entry) : entry.variant.empty()) forms.push_back(form(entry));
  }
  return join(forms);
}

namespace {

// A parameter as written. Its prefix determines the kind.
struct Written {
  Parameter kind;
  std::string number;
};

Written read_kind(const std::string& text) {
  const std::pair<std::string_view, Parameter> marks[] = {
      {"±", Parameter::half_width}, {"+-", Parameter::half_width}, {"p>", Parameter::threshold}};
  for (const auto& [mark, kind] : marks) {
    if (text.rfind(mark, 0) == 0) return {kind, text.substr(mark.size())};
  }
  return {Parameter::samples, text};
}

std::int64_t parse_samples(const EstimatorDefinition& entry, const std::string& text, const std::string& where) {
  const auto samples = parse_integer(text);
  if (samples && *samples >= entry.least && *samples <= kMostSamples) return *samples;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (digits && samples.value_or(kMostSamples + 1) > kMostSamples)  // also true if the number overflows
    throw Error{ErrorCode::usage, where, "cannot have '" + text + "' samples", "give at most " + std::to_string(kMostSamples)};
  const std::string least = entry.least > 1 ? " of at least " + std::to_string(entry.least) : "";
  throw Error{ErrorCode::usage, where, "has the parameter '" + text + "', which is not a number of samples" + least,
              "try " + example(entry)};
}

// Parses a number in (low, high). Throws Error{usage} if it is not one.
double parse_within(const EstimatorDefinition& entry, const std::string& text, double low, double high, const std::string& what,
                    const std::string& where) {
  const auto value = parse_double(text);
  if (value && *value > low && *value < high) return *value;
  throw Error{ErrorCode::usage, where, "has the parameter '" + text + "', which is not " + what, "try " + example(entry)};
}

EstimatorSpec with_parameter(const EstimatorDefinition& entry, const std::string& text, const std::string& where) {
  switch (entry.parameter) {
    case Parameter::samples:
      return {.definition = &entry, .samples = parse_samples(entry, text, where)};
    case Parameter::half_width:
      return {.definition = &entry, .value = parse_within(entry, text, 1e-4, 0.5, "a half-width between 0.0001 and 0.5", where)};
    case Parameter::threshold:
      return {.definition = &entry, .value = parse_within(entry, text, 0, 1, "a probability between 0 and 1", where)};
    default:
      return {.definition = &entry, .value = parse_within(entry, text, 0, INFINITY, "a positive temperature", where)};
  }
}

// The parts of an estimator's text.
struct Parts {
  std::string name, variant;
  std::optional<std::string> parameter;
};

Parts parts_of(const std::string& text) {
  const std::size_t first = text.find(':');
  if (first == std::string::npos) return {text, "", {}};
  const std::size_t second = text.find(':', first + 1);
  if (second == std::string::npos) return {text.substr(0, first), "", text.substr(first + 1)};
  return {text.substr(0, first), text.substr(second + 1), text.substr(first + 1, second - first - 1)};
}

bool takes(const EstimatorDefinition& entry, Parameter written) {
  return entry.parameter == written || (written == Parameter::samples && entry.parameter == Parameter::temperature);
}

// The spec for a text without a parameter, if the entry has no parameter or a default.
EstimatorSpec without_parameter(const EstimatorDefinition& entry, const std::string& where) {
  if (entry.parameter == Parameter::none) return {&entry};
  if (entry.default_parameter && entry.parameter == Parameter::samples)
    return {.definition = &entry, .samples = static_cast<std::int64_t>(*entry.default_parameter)};
  if (entry.default_parameter) return {.definition = &entry, .value = *entry.default_parameter};
  throw Error{ErrorCode::usage, where, "needs a number of samples", "try " + example(entry)};
}

}  // namespace

std::string form(const EstimatorDefinition& entry) {
  std::string text(entry.name);
  if (entry.parameter == Parameter::samples) text += ":N";
  if (entry.parameter == Parameter::half_width) text += ":±H";
  if (entry.parameter == Parameter::threshold) text += ":p>TAU";
  if (!entry.variant.empty()) text += ":" + std::string(entry.variant);
  return text;
}

bool shares_noise(std::string_view text) {
  const Parts parts = parts_of(std::string(text));
  const auto entries = all_estimators();
  return std::any_of(entries.begin(), entries.end(), [&](const EstimatorDefinition& entry) {
    return (entry.share == Share::draws || entry.share == Share::designs) && entry.name == parts.name &&
           entry.variant == parts.variant;
  });
}

std::string EstimatorSpec::text() const {
  std::string text(definition->name);
  if (definition->parameter == Parameter::samples) text += ":" + std::to_string(samples);
  if (definition->parameter == Parameter::temperature && value != definition->default_parameter)
    text += ":" + shortest_text(value);
  if (definition->parameter == Parameter::half_width) text += ":±" + shortest_text(value);
  if (definition->parameter == Parameter::threshold) text += ":p>" + shortest_text(value);
  if (!definition->variant.empty()) text += ":" + std::string(definition->variant);
  return text;
}

bool EstimatorSpec::is_auto() const { return definition->estimate == estimate_auto; }

std::int64_t EstimatorSpec::passes(std::int64_t classes) const { return definition->passes(classes, *this); }

EstimatorSpec parse_estimator(const std::string& text) {
  const std::string where = "estimator '" + text + "'";
  const Parts parts = parts_of(text);
  const EstimatorDefinition* of_name = nullptr;
  for (const EstimatorDefinition& entry : all_estimators()) {
    if (parts.name != entry.name) continue;
    if (of_name == nullptr) of_name = &entry;
    if (parts.variant != entry.variant || text.ends_with(':')) continue;
    if (!parts.parameter) return without_parameter(entry, where);
    const Written written = read_kind(*parts.parameter);
    if (takes(entry, written.kind)) return with_parameter(entry, written.number, where);
  }
  if (of_name == nullptr) throw Error{ErrorCode::usage, where, "is unknown", "use one of " + known_estimators()};
  if (of_name->parameter == Parameter::none)
    throw Error{ErrorCode::usage, where, "takes no parameter", "write " + example(*of_name)};
  throw Error{ErrorCode::usage, where, "does not exist in this form", "try " + example(*of_name)};
}

EstimatorSpec spec_of(EstimatorFunction* function, std::int64_t samples) {
  const auto entries = all_estimators();
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& each) { return each.estimate == function; });
  return {.definition = &*entry, .samples = samples};
}

Share parse_share(const std::string& text) {
  const std::pair<std::string_view, Share> words[] = {
      {"none", Share::none}, {"pooled", Share::pooled}, {"learned", Share::learned}, {"draws", Share::draws}};
  for (const auto& [word, share] : words) {
    if (text == word) return share;
  }
  throw Error{ErrorCode::usage, option("share"), "cannot be '" + text + "'", "use none, pooled, learned or draws"};
}

std::optional<EstimatorSpec> with_share(const EstimatorSpec& estimator, Share share) {
  const EstimatorDefinition& own = *estimator.definition;
  if (!own.share || !own.variant.empty()) return {};
  if (own.share == share || (own.share == Share::chosen && share == Share::draws)) return estimator;
  for (const EstimatorDefinition& entry : all_estimators()) {
    if (entry.name != own.name || entry.share != share) continue;
    if (estimator.samples < entry.least)
      throw Error{ErrorCode::usage, option("share"), "needs more samples than " + estimator.text() + " has",
                  "give at least " + std::to_string(entry.least)};
    EstimatorSpec result = estimator;
    result.definition = &entry;
    return result;
  }
  return {};
}

}  // namespace probust
