// SPDX-License-Identifier: MIT
#include "probust/perturb/transform_model.h"

#include <algorithm>
#include <utility>

#include "probust/base/error.h"
#include "probust/onnx/import.h"
#include "probust/perturb/stage.h"

namespace probust {
namespace {

constexpr const char* kLatentProperty = "probust.z";

[[noreturn]] void refuse_latents(const std::string& problem) {
  throw Error{ErrorCode::unreadable, "the model", problem,
              "write normal, uniform(a,b), or one of these for each value of z, separated by commas"};
}

// The bounds in "uniform(a,b)"; empty for "normal".
LatentBounds bounds_in(const std::string& text) {
  if (text == "normal") return std::nullopt;
  const auto bounds = perturb::arguments_of(text, "uniform");
  if (!bounds || bounds->size() != 2 || !((*bounds)[0] < (*bounds)[1]))
    refuse_latents("has '" + text + "' in its property " + kLatentProperty + ", which cannot be parsed");
  return std::pair((*bounds)[0], (*bounds)[1]);
}

// The bounds of each of `count` values of z; empty if all are normal.
std::vector<LatentBounds> bounds_of(std::string text, std::int64_t count) {
  std::erase(text, ' ');
  std::vector<LatentBounds> bounds;
  const auto comma = [&](std::size_t i) { return text[i] == ','; };
  for (const std::string& entry : perturb::split_outside_parentheses(text, comma)) bounds.push_back(bounds_in(entry));
  if (bounds.size() == 1) bounds.resize(static_cast<std::size_t>(count), LatentBounds(bounds[0]));
  if (std::ssize(bounds) != count)
    refuse_latents("has " + std::to_string(bounds.size()) + " distributions in its property " + kLatentProperty + " for " +
                   std::to_string(count) + " values of z");
  const bool normal = std::none_of(bounds.begin(), bounds.end(), [](const LatentBounds& each) { return each.has_value(); });
  return normal ? std::vector<LatentBounds>() : bounds;
}

}  // namespace

OwnPerturbation transform_model(std::span<const std::byte> bytes, const std::string& where) {
  const auto refuse = [](const std::string& problem) {
    throw Error{ErrorCode::unreadable, "the model", problem, "give a model of x and z, with one output of the shape of x"};
  };
  try {
    Function function = import_onnx_function(bytes, {.fixed = {}, .batch = 1}).value();
    if (function.inputs.size() != 2) refuse("has " + std::to_string(function.inputs.size()) + " inputs instead of x and z");
    if (function.outputs.size() != 1) refuse("has " + std::to_string(function.outputs.size()) + " outputs");
    if (function.inputs[0] == "z" || function.inputs[1] == "x") refuse("must have the input x before z");
    OwnPerturbation own;
    own.latents = element_count(function.graph[function.graph.inputs()[1]].shape);
    if (own.latents == 0) refuse("has a z without elements");
    if (const auto given = function.properties.find(kLatentProperty); given != function.properties.end())
      own.bounds = bounds_of(given->second, own.latents);
    own.graph = std::make_shared<const Graph>(std::move(function.graph));
    return own;
  } catch (Error& error) {
    add_file_name(error, where);
    throw;
  }
}

}  // namespace probust
