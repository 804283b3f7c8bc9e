// SPDX-License-Identifier: MIT
#include "cli/run/past_run.h"

#include <algorithm>
#include <utility>

#include "cli/options.h"
#include "cli/run/load.h"
#include "probust/base/text.h"
#include "report/words.h"

namespace probust::cli {
namespace {

constexpr const char *kGiveData = "give the run's data with --data", *kGiveModel = "give the run's model with --model";

// Returns the result of `read`. Its errors are about files of the run, so they get `hint`, which says how to specify other
// files.
template <class Read>
auto reading(const char* hint, Read&& read) {
  try {
    return std::forward<Read>(read)();
  } catch (Error& error) {
    error.hint = hint;
    throw;
  }
}

std::string path_of_data(const PastRun& run) {
  const std::string path = run.data.empty() ? store::value_of(run.information, "data_path") : run.data;
  if (path.empty()) throw Error{ErrorCode::unreadable, "the run", "does not record where its data are", kGiveData};
  if (reading(kGiveData, [&] { return store::checksum(path); }) != store::value_of(run.configuration, "data"))
    throw Error{ErrorCode::unreadable, "'" + path + "'", "is not the run's data file, or has changed since the run", kGiveData};
  return path;
}

// The parts of a list such as "a.onnx, b.onnx".
std::vector<std::string> paths_in(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0, end = 0; at <= text.size(); at = end + 2) {
    end = std::min(text.find(", ", at), text.size());
    parts.push_back(text.substr(at, end - at));
  }
  return parts;
}

// The path of the model with this name in rows, which is empty if the run has only one model.
std::string path_of_model(const PastRun& run, const std::string& model) {
  const std::string recorded = store::value_of(run.information, "model_path");
  if (run.models.empty() && model.empty()) return recorded;
  for (const std::string& path : run.models.empty() ? paths_in(recorded) : run.models) {
    if (model.empty() || report::file_name(path) == model) return path;
  }
  throw Error{ErrorCode::unreadable, "the run", "does not record where its model " + model + " is", kGiveModel};
}

void require_file_of_model(const PastRun& run, const std::string& file) {
  const std::string known = store::value_of(run.configuration, "model");  // the checksums of all models together
  if (known.find(reading(kGiveModel, [&] { return store::checksum(file); })) == std::string::npos)
    throw Error{ErrorCode::unreadable, "'" + file + "'", "is not the run's model, or has changed since the run", kGiveModel};
}

void require_model_of_run(const PastRun& run, const Arguments& arguments) {
  require_file_of_model(run, arguments.model);
  for (const std::string& file : reading(kGiveModel, [&] { return files_of_models(arguments); }))
    require_file_of_model(run, file);
}

// Sets the options for decisions and the event from the configuration (see configuration_of).
void set_question(const store::Configuration& configuration, Arguments& arguments) {
  const auto value = [&](const char* name) { return store::value_of(configuration, name); };
  arguments.output_name = value("output_name");
  arguments.decision_threshold = parse_double(value("threshold"));
  if (!value("outputs").empty()) arguments.outputs = parse_outputs(value("outputs"));
  if (!value("input_shape").empty()) arguments.input_shape = parse_outputs(value("input_shape"));
  arguments.question.target = value("target");
  arguments.question.groups = value("groups");
  arguments.question.top = parse_integer(value("top")).value_or(1);
  if (!value("tolerance").empty()) arguments.question.tolerance = parse_numbers(value("tolerance"), "--tolerance");
  arguments.question.seed = static_cast<std::uint64_t>(parse_integer(value("seed")).value_or(0));
}

}  // namespace

std::unique_ptr<PointSource> open_points(const PastRun& run) {
  const std::string path = path_of_data(run);
  DataArguments data = parse_data_options(path, store::value_of(run.information, "data_options"));
  data.labels.clear();  // not needed: the rows contain them
  data.offset = 0;
  data.limit = -1;
  return open_dataset(path, dataset_options(data)).value();
}

Problem reopen_problem(const PastRun& run, const std::string& model) {
  Arguments arguments;
  arguments.data = parse_data_options(path_of_data(run), store::value_of(run.information, "data_options"));
  arguments.model = path_of_model(run, model);
  arguments.device = run.device;
  arguments.quiet = true;
  require_model_of_run(run, arguments);
  set_question(run.configuration, arguments);
  return load_problem(arguments, {});
}

}  // namespace probust::cli
