// SPDX-License-Identifier: MIT
#include "probust/perturb/stage.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "probust/base/error.h"
#include "probust/base/text.h"

namespace probust::perturb {
namespace {

double linked(Link link, double t) {
  return link == Link::exponential ? std::exp(t) : link == Link::magnitude ? std::fabs(t) : t;
}

class Parser {
 public:
  Parser(const Family& family, const std::string& text) : family_(family), where_("noise '" + text + "'") {
    stage_.family = &family;
    stage_.text = family.name;
    if (family.name == "occlude") stage_.border.kind = Border::Kind::constant;
  }

  Stage stage(const std::string& text) {
    std::string amount;
    const std::size_t begin = family_.name.size() + 1;  // after the colon
    const std::vector<std::string> parts = text.size() > begin ? split(text.substr(begin), ':') : std::vector<std::string>();
    for (const std::string& part : parts) {
      if (part.empty()) continue;
      if (part.starts_with("fill=")) {
        set_border(part.substr(5));
      } else if (amount.empty()) {
        amount = part;
      } else {
        refuse("has an unknown part '" + part + "'");
      }
    }
    set_distributions(amount);
    return std::move(stage_);
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const { throw Error{ErrorCode::usage, where_, problem, usage()}; }

  std::string usage() const {
    const std::string write = std::string(family_.name) + ":";
    const Parameter& first = family_.parameters[0];
    if (first.whole) return "write " + write + shortest_text(first.lowest) + " to " + write + shortest_text(first.highest);
    const bool value = family_.number == Family::Number::value;
    return "write " + write + std::string(value ? family_.example : "0.1") + ", " + write + "uniform(" +
           std::string(family_.bounds) + ") or " + write + "fixed(" + std::string(family_.example) + ")";
  }

  void set_border(const std::string& text) {
    if (!family_.has_border) refuse("sets 'fill', but " + std::string(family_.name) + " leaves no pixels to fill");
    const auto value = parse_double(text);
    if (text == "nearest" || text == "reflect") {
      stage_.border = {text == "reflect" ? Border::Kind::reflect : Border::Kind::nearest, 0};
    } else if (value && std::isfinite(*value)) {
      stage_.border = {Border::Kind::constant, static_cast<float>(*value)};
    } else {
      refuse("fills with '" + text + "', which is neither a number nor nearest or reflect");
    }
    stage_.text += ":fill=" + text;
  }

  void set_distributions(const std::string& amount) {
    if (family_.parameters[0].whole) {
      set_whole(family_.parameters[0], amount);
    } else if (const auto bounds = arguments_of(amount, "uniform")) {
      if (bounds->size() != 2 || !((*bounds)[0] < (*bounds)[1]))
        refuse("has a uniform distribution whose bounds are not two increasing numbers");
      set_values({Distribution::Kind::uniform, (*bounds)[0], (*bounds)[1]}, amount);
    } else if (const auto value = arguments_of(amount, "fixed")) {
      if (value->size() != 1) refuse("has a fixed value that is not a single number");
      set_values({Distribution::Kind::fixed, (*value)[0], (*value)[0]}, amount);
    } else {
      set_number(amount);
    }
  }

  void set_whole(const Parameter& own, const std::string& amount) {
    const auto number = parse_double(amount);
    if (!number || *number != std::floor(*number) || *number < own.lowest || *number > own.highest)
      refuse("needs a " + std::string(own.name) + " that is a whole number from " + shortest_text(own.lowest) + " to " +
             shortest_text(own.highest));
    set_values({Distribution::Kind::fixed, *number, *number}, shortest_text(*number));
  }

  void set_number(const std::string& amount) {
    const auto number = parse_double(amount);
    if (!number || !std::isfinite(*number) || *number <= 0) refuse("needs a positive number after its name");
    if (family_.number == Family::Number::value) {
      set_values({Distribution::Kind::fixed, *number, *number}, shortest_text(*number));
      return;
    }
    stage_.theta.assign(family_.parameters.size(), {Distribution::Kind::normal, *number, 0});
    stage_.scale = *number;
  }

  // Sets the distribution of all parameters or, if a number gives the first parameter (Number::value), of the first one only; the
  // others are then uniform in their range.
  void set_values(const Distribution& given, const std::string& text) {
    for (std::size_t k = 0; k < family_.parameters.size(); ++k) {
      const Parameter& own = family_.parameters[k];
      const bool follows = k > 0 && family_.number == Family::Number::value;
      stage_.theta.push_back(follows ? Distribution{Distribution::Kind::uniform, own.lowest, own.highest} : given);
      if (stage_.theta[k].low < own.lowest || stage_.theta[k].high > own.highest)
        refuse("has a value outside " + shortest_text(own.lowest) + " to " + shortest_text(own.highest));
    }
    stage_.text += ":" + text;
  }

  const Family& family_;
  std::string where_;
  Stage stage_;
};

}  // namespace

std::optional<std::vector<double>> arguments_of(const std::string& text, std::string_view name) {
  if (!text.starts_with(std::string(name) + "(") || !text.ends_with(")")) return std::nullopt;
  std::vector<double> numbers;
  for (const std::string& part : split(text.substr(name.size() + 1, text.size() - name.size() - 2), ',')) {
    const auto number = parse_double(part);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

Stage parse_stage(const Family& family, const std::string& text) { return Parser(family, text).stage(text); }

OwnText own_text(const std::string& part) {
  const std::string name = part.substr(std::min(part.size(), part.find(':') + 1));
  const std::size_t colon = name.rfind(':');
  const auto scale = colon == std::string::npos ? std::nullopt : parse_double(name.substr(colon + 1));
  return {scale ? name.substr(0, colon) : name, scale};
}

Stage own_stage(const std::string& text, const NoiseSource& source) {
  const std::string where = "noise '" + text + "'";
  const auto [own, scale] = own_text(text);
  if (text.find(':') == std::string::npos || own.empty())
    throw Error{ErrorCode::usage, where, "does not name a model", "use transform:FILE.onnx, a model of x and z"};
  if (scale && (!std::isfinite(*scale) || *scale <= 0))
    throw Error{ErrorCode::usage, where, "has a scale that is not a positive number", "try transform:FILE.onnx:1"};
  if (!source.perturbation) throw Error{ErrorCode::usage, where, "needs a file, but files cannot be read here", "try rotate:10"};
  Stage stage;
  stage.own = source.perturbation(own);
  if (scale && !stage.own.bounds.empty())
    throw Error{ErrorCode::usage, where, "has a scale, but its model specifies the distribution of z",
                "leave out the scale: transform:" + own};
  if (stage.own.bounds.empty()) stage.scale = scale.value_or(1);
  stage.text = "transform:" + own;
  return stage;
}

std::int64_t random_parameters(const Stage& stage) {
  if (stage.own.latents > 0) return stage.own.latents;
  return std::count_if(stage.theta.begin(), stage.theta.end(),
                       [](const Distribution& each) { return each.kind != Distribution::Kind::fixed; });
}

std::vector<double> parameters_of(const Stage& stage, std::span<const float> normals, double scale) {
  std::vector<double> theta;
  std::size_t next = 0;
  for (std::size_t k = 0; k < stage.theta.size(); ++k) {
    const Distribution& own = stage.theta[k];
    if (own.kind == Distribution::Kind::fixed) {
      theta.push_back(own.low);
    } else if (own.kind == Distribution::Kind::normal) {
      theta.push_back(linked(stage.family->parameters[k].link, scale * double{normals[next++]}));
    } else {
      const double share = std::erfc(-double{normals[next++]} / std::numbers::sqrt2) / 2;
      theta.push_back(own.low + (own.high - own.low) * share);
    }
  }
  return theta;
}

}  // namespace probust::perturb
