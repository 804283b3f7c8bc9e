// SPDX-License-Identifier: MIT
#include "cli/events.h"

#include <algorithm>
#include <optional>
#include <set>

#include "cli/devices.h"
#include "cli/load.h"
#include "probust/base/text.h"
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
  Dataset& data = problem.data;
  const auto model = make_device(regression, arguments);
  const std::int64_t d = element_count(model->point_shape()), outputs = model->classes();
  data.x = with_outputs(data.x, model->logits(data.x).value());
  data.labels.clear();  // regression targets, irrelevant to the change caused by noise
  data.class_names.clear();
  if (outputs == 1) data.class_names = {"below", "above", "within"};
  arguments.target = std::to_string(2 * outputs);
  for (Noise& noise : problem.noises) noise.shape = on_inputs(noise.shape, d, outputs);
  problem.executor = make_device(within_tolerance(regression, *arguments.tolerance), arguments);
}

std::optional<std::int64_t> class_number(const std::string& text, const std::vector<std::string>& names) {
  const auto name = std::find(names.begin(), names.end(), text);
  return name == names.end() ? parse_integer(text) : std::optional<std::int64_t>(name - names.begin());
}

}  // namespace

Problem load_problem(const Arguments& arguments, const std::vector<Noise>& noises) {
  if (arguments.tolerance) refuse_beside_tolerance(arguments);
  Problem problem{arguments, load_data(arguments.data), nullptr, noises};
  const Shape shape = point_shape(problem.data.x);
  const Model model = load_model(arguments, shape, !arguments.tolerance);
  if (arguments.tolerance && model.classifies)
    throw Error{ErrorCode::usage, "--tolerance", "is for regression models, and " + arguments.model + " is a classifier",
                "leave it out"};
  for (const Noise& noise : noises) noise.shape->fit(element_count(shape), arguments.data.offset + problem.data.x.shape[0]);
  const Graph graph = load_graph(model, shape, arguments);
  if (arguments.tolerance) {
    ask_for_tolerance(problem, graph);
  } else {
    problem.executor = make_device(graph, arguments);
  }
  return problem;
}

std::vector<std::int64_t> targets(const Arguments& arguments, const Dataset& data, const Tensor& logits) {
  const std::int64_t classes = logits.shape[1];
  std::vector<std::int64_t> result = predicted_classes(logits);
  if (arguments.target == "predicted") return result;
  if (arguments.target == "label") {
    if (data.labels.empty()) throw Error{ErrorCode::usage, "--target label", "the data have no labels", "give --labels FILE"};
    result = data.labels;
  } else {
    const auto fixed = class_number(arguments.target, data.class_names);
    if (!fixed)
      throw Error{ErrorCode::usage, "--target", "'" + arguments.target + "' is not known",
                  "use predicted, label, a class number" + std::string(data.class_names.empty() ? "" : " or a class name")};
    std::fill(result.begin(), result.end(), *fixed);
  }
  for (const std::int64_t target : result) {
    if (target < 0 || target >= classes) {
      throw Error{ErrorCode::usage, "--target", "class " + std::to_string(target) + " does not exist",
                  "the model has classes 0.." + std::to_string(classes - 1)};
    }
  }
  return result;
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
