// SPDX-License-Identifier: MIT
#include "cli/run/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/devices.h"
#include "cli/run/load.h"
#include "probust/base/text.h"
#include "probust/estimators/statistics/pooling.h"
#include "probust/estimators/tolerance.h"
#include "probust/run/request.h"

namespace probust::cli {
namespace {

// Options about a classifier's answer mean nothing for a regression model.
void refuse_beside_tolerance(const Arguments& arguments) {
  const std::pair<const char*, bool> others[] = {{"--target", arguments.question.target != "predicted"},
                                                 {"--groups", !arguments.question.groups.empty()},
                                                 {"--top", arguments.question.top != 1},
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
  arguments.question.target = std::to_string(2 * outputs);
  for (Noise& noise : problem.noises) noise.shape = on_inputs(noise.shape, d, outputs);
  problem.executor = make_device(within_tolerance(regression, *arguments.question.tolerance), arguments);
}

// Labels by name for some of the model's classes are right only if the names are matched.
void compare_classes(Problem& problem) {
  const PointSource& data = *problem.data;
  problem.notes = data.notes();
  const std::int64_t named = data.named_classes(), classes = problem.executor->classes();
  if (named == 0 || named == classes || (named > classes && !data.labels_guessed())) return;
  problem.notes.push_back(
      fmt::format("the data have {} {}, and the model has {}", named, named == 1 ? "class" : "classes", classes) +
      (data.labels_guessed() ? "; give the names of all, in the model's order, with " + option("classes") : ""));
}

}  // namespace

Problem load_problem(const Arguments& arguments, const std::vector<Noise>& noises) {
  if (arguments.question.tolerance) refuse_beside_tolerance(arguments);
  Problem problem;
  problem.arguments = arguments;
  problem.data = open_data(arguments);
  problem.noises = noises;
  problem.labels = problem.data->labels();
  problem.class_names = problem.data->class_names();
  const Shape& shape = problem.data->point_shape();
  const auto range = problem.data->label_range();
  const Model model =
      load_model(arguments, shape, !arguments.question.tolerance, range && range->first >= 0 ? range->second + 1 : 0);
  problem.decision = model.decision;
  if (problem.class_names.empty()) problem.class_names = model.class_names;
  if (arguments.question.tolerance && model.classifies)
    throw Error{ErrorCode::usage, "--tolerance", "is for regression models, and " + arguments.model + " is a classifier",
                "leave it out"};
  for (const Noise& noise : noises) noise.shape->fit(element_count(shape), first_position(problem) + point_count(problem));
  const Graph graph = load_graph(model, shape, arguments);
  problem.input_shape = model.input_shape;
  problem.model_notes = model.notes;
  if (arguments.question.tolerance) {
    ask_for_tolerance(problem, graph);
    problem.decision =
        "every output of '" + model.output_name + "' changes by less than " + shortest_text(*arguments.question.tolerance);
  } else {
    problem.executor = make_device(graph, arguments);
    compare_classes(problem);
  }
  return problem;
}

std::int64_t first_position(const Problem& problem) { return problem.arguments.data.offset; }

std::int64_t point_count(const Problem& problem) { return problem.data->count(); }

Span span_of(const Problem& problem, const Plan& plan, const Shard& shard) {
  const std::int64_t first = first_position(problem), count = point_count(problem), last = first + count;
  if (!plan.whole_blocks) return {first + count * (shard.part - 1) / shard.parts, first + count * shard.part / shard.parts};
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
  std::vector<std::int64_t> targets = targets_of(problem.arguments.question.target, block.labels, logits, problem.class_names);
  const Event event = parse_event(problem.arguments, problem.class_names, logits.shape[1]);
  std::vector<std::int64_t> labels = asked_labels(block.labels, targets, event, logits.shape[1]);
  return {std::move(block.x), std::move(block.index), std::move(targets), problem.arguments.question.seed, {}, std::move(labels)};
}

Event parse_event(const Arguments& arguments, const std::vector<std::string>& class_names, std::int64_t classes) {
  return event_of(split_groups(arguments.question.groups), arguments.question.per_class, arguments.question.top, classes,
                  class_names);
}

}  // namespace probust::cli
