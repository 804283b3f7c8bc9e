// SPDX-License-Identifier: MIT
#include "cli/run/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/run/load.h"
#include "datasets/noise_files.h"
#include "datasets/sibling_files.h"
#include "probust/base/text.h"
#include "probust/run/run.h"

namespace probust::cli {
namespace {

[[noreturn]] void refuse(const char* option, const char* what, const char* hint) {
  throw Error{ErrorCode::usage, option, what, hint};
}

// All estimators that the --estimator options list.
std::vector<std::string> estimator_texts(const Arguments& arguments) {
  std::vector<std::string> texts;
  for (const std::string& list : arguments.question.estimators) {
    for (std::string& item : split(list, ',')) texts.push_back(std::move(item));
  }
  return texts;
}

// Rejects --shard and --extend if estimates depend on all points or all noise scales.
void check_parts(const Arguments& arguments) {
  const std::pair<const char*, bool> together[] = {{"--total-budget", arguments.question.total_budget.has_value()},
                                                   {"--calibrate", arguments.question.calibrate}};
  for (const auto& [option, given] : together) {
    if (given && !arguments.shard.empty()) refuse(option, "needs all points at once", "leave out --shard");
    if (given && arguments.extend) refuse(option, "needs all points at once", "leave out --extend");
  }
  if (arguments.question.smooth && arguments.extend) refuse("--smooth", "needs all noise scales at once", "leave out --extend");
}

// Rejects options that conflict with other options or require them.
void check_options(const Arguments& arguments, const Plan& plan) {
  require_combinable({plan.total, arguments.question.smooth, arguments.question.calibrate}, plan.estimators);
  check_parts(arguments);
  std::set<std::string> questions;
  for (const auto& [noise, estimator] : plan.questions()) {
    const std::string question = plan.text(plan.estimators[estimator]) + " for " + plan.noises[noise].text();
    if (!questions.insert(question).second)
      throw Error{ErrorCode::usage, "--estimator", "lists '" + question + "' twice", "leave one out"};
  }
}

std::string checksums(const std::vector<std::string>& paths) {
  std::vector<std::string> sums;
  sums.reserve(paths.size());
  for (const std::string& path : paths) sums.push_back(store::checksum(path));
  return join(sums);
}

}  // namespace

std::vector<Plan::Question> Plan::questions() const {
  std::vector<Question> all;
  for (std::size_t noise = 0; noise < noises.size(); ++noise) {
    for (std::size_t estimator = 0; estimator < estimators.size(); ++estimator) all.push_back({noise, estimator});
  }
  return all;
}

std::int64_t Plan::passes(std::int64_t points, std::int64_t classes) const {
  std::int64_t per_point = 0;
  for (const EstimatorSpec& estimator : estimators) per_point += shares(estimator) ? 0 : estimator.passes(classes);
  return per_point * points * std::ssize(noises);
}

Plan parse_plan(const Arguments& arguments) {
  Plan plan;
  plan.noises = noises_of_data(arguments, datasets::noise_files(plan.noise_paths));
  clip_like_data(plan.noises, [&] { return range_of_data(arguments); });
  plan.total = static_cast<std::int64_t>(arguments.question.total_budget.value_or(0));
  plan.estimators = parse_estimators(estimator_texts(arguments), {arguments.question.budget, arguments.question.total_budget,
                                                                  arguments.question.independent, arguments.question.share});
  plan.whole_blocks = arguments.question.smooth || borrows(plan.estimators);
  check_options(arguments, plan);
  return plan;
}

std::vector<std::string> models_of(const Arguments& arguments) {
  std::vector<std::string> models{arguments.model};
  models.insert(models.end(), arguments.more_models.begin(), arguments.more_models.end());
  return models;
}

std::vector<std::string> model_names(const Arguments& arguments) {
  if (arguments.more_models.empty()) return {""};
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const std::string& model : models_of(arguments)) {
    names.push_back(printable(std::filesystem::path(model).filename().string()));
    if (!known.insert(names.back()).second)
      throw Error{ErrorCode::usage, "--model", "has two models named '" + names.back() + "'", "rename one of the files"};
  }
  return names;
}

std::vector<std::string> files_of_models(const Arguments& arguments) {
  std::vector<std::string> files;
  for (const std::string& model : models_of(arguments)) {
    datasets::SiblingFiles weights(model);
    (void)summarize_onnx(read_file(model), std::ref(weights)).value();
    files.push_back(model);
    for (std::string& path : weights.paths()) files.push_back(std::move(path));
  }
  return files;
}

static store::Configuration undivided_configuration(const Arguments& arguments, const Plan& plan) {
  const DataArguments& data = arguments.data;
  const auto checksum = [](const std::string& path) { return path.empty() ? "" : checksums({path}); };
  const auto number = [](const std::optional<double>& value) { return value ? shortest_text(*value) : ""; };
  const auto list = [](const auto& values) { return fmt::format("{}", fmt::join(values, ",")); };
  const auto flag = [](bool value) { return std::string(value ? "yes" : "no"); };
  std::vector<std::string> noises, estimators;
  for (const Noise& noise : plan.noises) noises.push_back(noise.text());
  for (const EstimatorSpec& estimator : plan.estimators) estimators.push_back(plan.text(estimator));
  store::Configuration configuration{{"version", PROBUST_VERSION},
                                     {"model", checksums(files_of_models(arguments))},
                                     {"output_name", arguments.output_name},
                                     {"threshold", number(arguments.decision_threshold)},
                                     {"outputs", list(arguments.outputs)},
                                     {"input_shape", list(arguments.input_shape)},
                                     {"data", checksum(data.path)},
                                     {"labels", checksum(data.labels)},
                                     {"label_column", data.label_column},
                                     {"scale", number(data.scale)},
                                     {"mean", list(data.mean)},
                                     {"std", list(data.std)},
                                     {"layout", data.layout},
                                     {"cifar100", flag(data.cifar100)},
                                     {"resize", std::to_string(data.resize)},
                                     {"crop", std::to_string(data.crop)},
                                     {"offset", std::to_string(data.offset)},
                                     {"limit", std::to_string(data.limit)},
                                     {"noise", join(noises)},
                                     {"noise_files", checksums(plan.noise_paths)},
                                     {"estimator", join(estimators)},
                                     {"total_budget", number(arguments.question.total_budget)},
                                     {"target", arguments.question.target},
                                     {"groups", arguments.question.groups},
                                     {"per_class", flag(arguments.question.per_class)},
                                     {"top", std::to_string(arguments.question.top)},
                                     {"tolerance", list(arguments.question.tolerance)},
                                     {"smooth", flag(arguments.question.smooth)},
                                     {"calibrate", flag(arguments.question.calibrate)},
                                     {"seed", std::to_string(arguments.question.seed)},
                                     {"precision", arguments.device.precision},
                                     {"shard", arguments.shard}};
  if (!data.classes.empty()) configuration.emplace_back("classes", checksum(data.classes));  // labels are matched with them
  return configuration;
}

store::Configuration configuration_of(const Arguments& arguments, const Plan& plan) {
  store::Configuration configuration = undivided_configuration(arguments, plan);
  // Stored because adding estimators must not change which points a shard has.
  if (!arguments.shard.empty()) configuration.emplace_back("shard_unit", plan.whole_blocks ? "blocks" : "points");
  return configuration;
}

Shard parse_shard(const Arguments& arguments) {
  if (arguments.shard.empty()) return {};
  const std::vector<std::string> numbers = split(arguments.shard, '/');
  const auto part = parse_integer(numbers.front()), parts = parse_integer(numbers.back());
  constexpr std::int64_t kMost = 1'000'000;
  if (numbers.size() != 2 || !part || !parts || *part < 1 || *part > *parts || *parts > kMost)
    throw Error{ErrorCode::usage, "--shard", "is '" + arguments.shard + "', which is not a valid shard", "try 1/4 to 4/4"};
  return {*part, *parts};
}

}  // namespace probust::cli
