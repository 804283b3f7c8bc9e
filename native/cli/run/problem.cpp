// SPDX-License-Identifier: MIT
#include "cli/run/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/run/load.h"
#include "probust/estimators/statistics/pooling.h"
#include "probust/run/request.h"

namespace probust::cli {
namespace {

void reject_classifier_options(const Arguments& arguments) {
  probust::reject_classifier_options({{"target", arguments.question.target != "predicted"},
                                      {"groups", !arguments.question.groups.empty()},
                                      {"top", arguments.question.top != 1},
                                      {"labels", !arguments.data.labels.empty()},
                                      {"classes", !arguments.data.classes.empty()}});
}

// Adds a note if the labels are names and the number of names differs from the model's number of classes, because numbering the
// names in sorted order is then wrong.
void compare_classes(Problem& problem) {
  const PointSource& data = *problem.data;
  const std::int64_t named = data.named_classes(), classes = problem.model.classes();
  if (named == 0 || named == classes || (named > classes && !data.labels_guessed())) return;
  problem.notes.push_back(
      fmt::format("the data have {} {}, but the model has {}", named, named == 1 ? "class" : "classes", classes) +
      (data.labels_guessed() ? "; list all names in the model's order with " + option("classes") : ""));
}

}  // namespace

Problem load_problem(const Arguments& arguments, const std::vector<Noise>& noises) {
  const bool classifies = arguments.question.tolerance.empty();
  if (!classifies) reject_classifier_options(arguments);
  std::unique_ptr<PointSource> data = open_data(arguments);
  LoadOptions options = load_options(arguments, data->point_shape());
  const auto range = data->label_range();
  if (range && range->first >= 0) options.data_classes = range->second + 1;
  for (const Noise& noise : noises) noise.shape->fit(element_count(data->point_shape()), arguments.data.offset + data->count());
  Problem problem{arguments, std::move(data), {}, load_model(arguments, options), {}, {}};
  if (classifies) {
    problem.notes = problem.data->notes();
    problem.labels = problem.data->labels();  // for a regression model, labels are not classes and are not used
    problem.class_names = problem.data->class_names();
    compare_classes(problem);
  }
  if (problem.class_names.empty()) problem.class_names = problem.model.imported().class_names;
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
  return block;
}

Event parse_event(const Arguments& arguments, const std::vector<std::string>& class_names, std::int64_t classes) {
  return event_of(split_groups(arguments.question.groups), arguments.question.per_class, arguments.question.top, classes,
                  class_names);
}

}  // namespace probust::cli
