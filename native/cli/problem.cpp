// SPDX-License-Identifier: MIT
#include "cli/problem.h"

#include <algorithm>
#include <optional>
#include <set>

#include "cli/devices.h"
#include "cli/load.h"
#include "probust/base/text.h"
#include "probust/estimators/pooling.h"
#include "probust/estimators/tolerance.h"

namespace probust::cli {
namespace {

// Options about a classifier's answer mean nothing for a regression model.
void refuse_beside_tolerance(const Arguments& arguments) {
  const std::pair<const char*, bool> others[] = {{"--target", arguments.target != "predicted"},
                                                 {"--groups", !arguments.groups.empty()},
                                                 {"--top", arguments.top != 1},
                                                 {"--labels", !arguments.data.labels.empty()},
                                                 {"--classes", !arguments.data.classes.empty()}};
  for (const auto& [option, given] : others) {
    if (given)
      throw Error{ErrorCode::usage, option, "is for classifiers, and --tolerance for regression models", "leave one out"};
  }
}

void ask_for_tolerance(Problem& problem, const Graph& regression) {
  Arguments& arguments = problem.arguments;
  problem.regression = make_device(regression, arguments);
  const std::int64_t d = element_count(problem.regression->point_shape()), outputs = problem.regression->classes();
  problem.labels.clear();  // regression targets, irrelevant to the change caused by noise
  problem.class_names.clear();
  if (outputs == 1) problem.class_names = {"below", "above", "within"};
  arguments.target = std::to_string(2 * outputs);
  for (Noise& noise : problem.noises) noise.shape = on_inputs(noise.shape, d, outputs);
  problem.executor = make_device(within_tolerance(regression, *arguments.tolerance), arguments);
}

std::optional<std::int64_t> class_number(const std::string& text, const std::vector<std::string>& names) {
  const auto name = std::find(names.begin(), names.end(), text);
  return name == names.end() ? parse_integer(text) : std::optional<std::int64_t>(name - names.begin());
}

// The class whose survival is estimated, per point.
std::vector<std::int64_t> targets_of(const Problem& problem, const std::vector<std::int64_t>& labels, const Tensor& logits) {
  const std::string& target = problem.arguments.target;
  const std::int64_t classes = logits.shape[1];
  std::vector<std::int64_t> result = predicted_classes(logits);
  if (target == "predicted") return result;
  if (target == "label") {
    if (labels.empty()) throw Error{ErrorCode::usage, "--target label", "the data have no labels", "give --labels FILE"};
    result = labels;
  } else {
    const auto fixed = class_number(target, problem.class_names);
    if (!fixed)
      throw Error{ErrorCode::usage, "--target", "'" + target + "' is not known",
                  "use predicted, label" +
                      std::string(problem.class_names.empty() ? " or a class number" : ", a class number or a class name")};
    std::fill(result.begin(), result.end(), *fixed);
  }
  for (const std::int64_t c : result) {
    if (c < 0 || c >= classes) {
      throw Error{ErrorCode::usage, "--target", "class " + std::to_string(c) + " does not exist",
                  "the model has classes 0.." + std::to_string(classes - 1)};
    }
  }
  return result;
}

}  // namespace

Problem load_problem(const Arguments& arguments, const std::vector<Noise>& noises) {
  if (arguments.tolerance) refuse_beside_tolerance(arguments);
  Problem problem{arguments, open_data(arguments), {}, nullptr, nullptr, noises, {}};
  problem.labels = problem.data->labels();
  problem.class_names = problem.data->class_names();
  if (!arguments.data.classes.empty()) problem.class_names = load_class_names(arguments.data);
  const Shape& shape = problem.data->point_shape();
  const Model model = load_model(arguments, shape, !arguments.tolerance);
  if (arguments.tolerance && model.classifies)
    throw Error{ErrorCode::usage, "--tolerance", "is for regression models, and " + arguments.model + " is a classifier",
                "leave it out"};
  for (const Noise& noise : noises) noise.shape->fit(element_count(shape), first_position(problem) + point_count(problem));
  const Graph graph = load_graph(model, shape, arguments);
  if (arguments.tolerance) {
    ask_for_tolerance(problem, graph);
  } else {
    problem.executor = make_device(graph, arguments);
  }
  return problem;
}

std::int64_t first_position(const Problem& problem) { return problem.arguments.data.offset; }

std::int64_t point_count(const Problem& problem) { return problem.data->count(); }

Span span_of(const Problem& problem, const Shard& shard) {
  const std::int64_t first = first_position(problem), last = first + point_count(problem);
  const std::int64_t begin = first / kBlock, blocks = (last + kBlock - 1) / kBlock - begin;
  const auto edge = [&](std::int64_t part) { return std::clamp((begin + blocks * part / shard.parts) * kBlock, first, last); };
  return {edge(shard.part - 1), edge(shard.part)};
}

PointBlock read_points(Problem& problem, std::int64_t first, std::int64_t count) {
  PointBlock block = problem.data->read(first - first_position(problem), count);
  if (problem.labels.empty()) block.labels.clear();
  if (problem.regression && !block.index.empty()) block.x = with_outputs(block.x, problem.regression->logits(block.x).value());
  return block;
}

Points points_of(const Problem& problem, PointBlock block, const Tensor& logits) {
  std::vector<std::int64_t> targets = targets_of(problem, block.labels, logits);
  return {std::move(block.x), std::move(block.index), std::move(targets), problem.arguments.seed};
}

Event parse_event(const Arguments& arguments, const std::vector<std::string>& class_names, std::int64_t classes) {
  Event event{{}, arguments.per_class, arguments.top};
  if (event.top > classes)
    throw Error{ErrorCode::usage, "--top", std::to_string(event.top) + " of " + std::to_string(classes) + " classes",
                "give 1 to " + std::to_string(classes)};
  if (arguments.groups.empty()) return event;
  if (event.top > 1) throw Error{ErrorCode::usage, "--top", "cannot be combined with --groups", "leave one out"};
  for (std::int64_t c = 0; c < classes; ++c) event.group.push_back(c);
  std::set<std::int64_t> seen;
  for (const std::string& group : split(arguments.groups, '/')) {
    std::int64_t first = -1;
    for (const std::string& member : split(group, ',')) {
      const std::int64_t c = class_number(member, class_names).value_or(-1);
      if (c < 0 || c >= classes || !seen.insert(c).second) {
        throw Error{ErrorCode::usage, "--groups", "'" + group + "' names a class that does not exist, or one class twice",
                    "the model has classes 0.." + std::to_string(classes - 1) + "; write for example 0,1/2,3"};
      }
      first = first < 0 ? c : first;
      event.group[c] = first;
    }
  }
  return event;
}

}  // namespace probust::cli
