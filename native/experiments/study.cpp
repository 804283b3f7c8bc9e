// SPDX-License-Identifier: MIT
#include "experiments/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/command_line.h"
#include "cli/commands/estimate.h"
#include "cli/commands/train.h"
#include "cli/messages.h"
#include "cli/output/text_file.h"
#include "cli/run/destination.h"
#include "cli/run/load.h"
#include "cli/run/results.h"
#include "datasets/json.h"
#include "experiments/subjects.h"
#include "probust/base/text.h"

namespace probust::cli::reproduce {
namespace {

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!std::filesystem::is_directory(folder))
    throw Error{ErrorCode::resources, folder, "is not a folder and cannot be created: " + error.message(),
                "choose another --output"};
}

// All settings that determine the trained network.
Document identity(const Recipe& recipe, const Arguments& arguments) {
  return Document::Object{{"model", recipe.model},
                          {"train", arguments.data.path},
                          {"points", arguments.data.limit},
                          {"test", arguments.train.test},
                          {"epochs", recipe.epochs},
                          {"batch", recipe.batch},
                          {"rate", recipe.rate},
                          {"lambda", recipe.lambda},
                          {"decay", recipe.decay},
                          {"seed", arguments.question.seed}};
}

std::optional<Document> read_record(const std::string& path) {
  if (!std::filesystem::exists(path)) return {};
  const std::vector<std::byte> text = read_file(path);
  const std::optional<Document> record = datasets::parse_json({reinterpret_cast<const char*>(text.data()), text.size()});
  if (!record || record->find("recipe") == nullptr)
    throw Error{ErrorCode::unreadable, path, "is not the record of a trained model", "remove it"};
  return record;
}

std::string list_of(const std::vector<double>& values) {
  std::vector<std::string> texts(values.size());
  std::transform(values.begin(), values.end(), texts.begin(), shortest_text);
  return fmt::format("{}", fmt::join(texts, ","));
}

// The command line that repeats the run of `question`.
std::string estimate_command(const Question& question, const Arguments& arguments) {
  std::string text = fmt::format("probust estimate {} {}", arguments.model, arguments.data.path);
  if (arguments.data.limit >= 0) text += fmt::format(" --limit {}", arguments.data.limit);
  if (!question.sigma.empty()) text += " --sigma " + list_of(question.sigma);
  for (const std::string& noise : question.noise) text += " --noise " + noise;
  text += fmt::format(" --estimator {}", fmt::join(question.estimators, ","));
  if (question.tolerance) text += " --tolerance " + shortest_text(*question.tolerance);
  if (arguments.question.seed != 0) text += fmt::format(" --seed {}", arguments.question.seed);
  return text + " -o " + arguments.output;
}

}  // namespace

void end_interrupted() { throw Error{ErrorCode::interrupted, "reproduce", "was interrupted", "repeat the command to resume"}; }

Study::Study(const Arguments& arguments) : arguments_(arguments), folder_(arguments.output), quick_(arguments.reproduce.quick) {
  for (const char* part : {"data", "models", "runs"}) make_folder(path(part));
  subject_ = find_subject(arguments, path("data"), quick_);
  sizes_ = sizes_of(subject_, quick_);
  sigmas_ = sigmas_of(subject_);
}

std::string Study::path(const std::string& name) const { return (std::filesystem::path(folder_) / name).string(); }

const Dataset& Study::test() {
  if (!test_) test_ = read_test(sizes_.test);
  return *test_;
}

Dataset Study::all_test() const { return read_test(-1); }

Dataset Study::read_test(std::int64_t limit) const {
  DatasetOptions options;
  options.limit = limit;
  options.cifar100 = subject_.cifar100;
  return read_dataset(subject_.test, options).value();
}

TrainedModel Study::model(const Recipe& recipe) {
  Arguments arguments = arguments_;
  arguments.output = path("models/" + recipe.name + ".onnx");
  arguments.data.path = recipe.train.empty() ? subject_.train : recipe.train;
  arguments.data.limit = recipe.train.empty() ? sizes_.train : -1;
  arguments.data.cifar100 = subject_.cifar100;
  TrainArguments& train = arguments.train;
  train.model = recipe.model;
  train.test = recipe.test.empty() ? subject_.test : recipe.test;
  train.epochs = recipe.epochs;
  train.batch = recipe.batch;
  train.rate = recipe.rate;
  train.lambda = recipe.lambda;
  train.decay = recipe.decay;
  const std::string record_path = path("models/" + recipe.name + ".json");
  const Document expected = identity(recipe, arguments);
  std::optional<Document> record = std::filesystem::exists(arguments.output) ? read_record(record_path) : std::nullopt;
  if (record && datasets::json_text(record->at("recipe")) != datasets::json_text(expected))
    throw Error{ErrorCode::conflict, arguments.output,
                "was trained with different options: " + datasets::json_text(record->at("recipe")), "choose another --output"};
  if (!record) {
    if (!arguments_.quiet) say("training {}\n", arguments.output);
    const std::optional<TrainingResult> trained = train_model(arguments);
    if (!trained) end_interrupted();
    record = Document::Object{
        {"recipe", expected}, {"accuracy", trained->accuracy}, {"test_accuracy", trained->test_accuracy.value_or(0)}};
    write_text_file(record_path, datasets::json_text(*record, 2) + "\n");
  }
  return {arguments.output, record->at("accuracy").as_number(), record->at("test_accuracy").as_number()};
}

TrainedModel Study::network(double lambda) {
  Recipe recipe = network_recipe(subject_, quick_);
  recipe.epochs = sizes_.epochs;
  recipe.lambda = lambda;
  recipe.name = lambda > 0 ? fmt::format("{}-lambda-{}", recipe.model, shortest_text(lambda)) : recipe.model;
  return model(recipe);
}

TrainedModel Study::linear() {
  Recipe recipe;
  recipe.name = recipe.model = "linear";
  recipe.epochs = sizes_.epochs;
  return model(recipe);
}

Results Study::rows(const Question& question) {
  Arguments arguments = arguments_;
  arguments.model = question.model;
  arguments.output = path("runs/" + question.name + ".sqlite");
  arguments.data.path = question.data.empty() ? subject_.test : question.data;
  arguments.data.limit = question.points >= 0 || !question.data.empty() ? question.points : sizes_.test;
  arguments.data.cifar100 = subject_.cifar100;
  arguments.question.estimators = question.estimators;
  if (!question.sigma.empty()) arguments.question.sigma = {list_of(question.sigma)};
  arguments.question.noise = question.noise;
  if (question.tolerance) arguments.question.tolerance = {*question.tolerance};
  arguments.question.seed += question.seed;
  arguments.command = estimate_command(question, arguments);
  if (std::find(commands_.begin(), commands_.end(), arguments.command) == commands_.end()) {
    commands_.push_back(arguments.command);
    if (!arguments_.quiet) say("{}\n", arguments.command);
    if (run_estimate(arguments) == kInterrupted) end_interrupted();
  }
  return read_results(arguments.output).results;
}

}  // namespace probust::cli::reproduce
