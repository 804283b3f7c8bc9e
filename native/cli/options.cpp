// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "datasets/fetch/catalogue.h"
#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/data/datasets.h"
#include "probust/estimators/estimator.h"
#include "probust/exec/devices.h"
#include "probust/noise/noise.h"

namespace probust::cli {
namespace {

// The list of estimators below the options of `estimate`.
std::string estimators_explained() {
  std::string text = "Estimators:\n";
  for (const EstimatorDefinition& definition : all_estimators()) {
    if (definition.variant.empty()) text += fmt::format("  {:<13} {}\n", form(definition), definition.summary);
  }
  return text + "Their variants, such as mmse:N:loo and mc:N:stratified, are for comparisons (documentation, Estimators).\n";
}

}  // namespace

std::string as_flag(std::string_view field) {
  std::string flag = "--" + std::string(field);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void add_model(const Command& command, Arguments& arguments) {
  command.add_option("MODEL", arguments.model, "an ONNX file").required();
  command.add_option("--output-name", arguments.output_name,
                     "the output or inner tensor that decides (default: the only one that can)");
  command
      .add_option("--input-shape", arguments.input_shape,
                  "of one example, e.g. 1,3,224,224, if neither the model nor the data settle it")
      .separated_by_commas()
      .one_argument_each();
}

void add_decision_options(const Command& command, Arguments& arguments, const std::string& threshold) {
  command.add_option(threshold, arguments.decision_threshold,
                     "of a model with one number: class 1 if it is above (default: 0 for scores, 0.5 for probabilities)");
  command.add_option_function(
      "--outputs", [&arguments](const std::string& text) { arguments.outputs = parse_outputs(text); },
      "the values of the output that are the classes, as 0,1 or 0..9 (default: all)");
}

void add_data(const Command& command, Arguments& arguments) {
  command.add_option("DATA", arguments.data.path, known_formats() + ", or a folder of PNG or JPEG images").required();
  add_data_options(command, arguments);
}

void add_data_options(const Command& command, Arguments& arguments) {
  DataArguments& data = arguments.data;
  command.add_option("--labels", data.labels, "labels from this file; for images, a table of file names and labels");
  command.add_option("--classes", data.classes,
                     "class names in the model's order, one per line: text labels are matched with them");
  command.add_option("--label-column", data.label_column, "of a .csv: an index, a name, last or none").show_default();
  command.add_option("--scale", data.scale, "stored value times this (default 1/255 for bytes, 1 otherwise)");
  command.add_option("--mean", data.mean, "subtracted after --scale: one per channel, or one for all")
      .separated_by_commas()
      .one_argument_each();
  command.add_option("--std", data.std, "divided by after --mean: one per channel, or one for all")
      .separated_by_commas()
      .one_argument_each();
  command.add_option("--layout", data.layout, "the order the model's input wants: auto, nchw, nhwc or whcn").show_default();
  command.add_flag("--cifar100", data.cifar100, "CIFAR-100 rows (two label bytes)");
  command.add_option("--limit", data.limit, "at most this many points").at_least(0);
  command.add_option("--offset", data.offset, "skip this many points").at_least(0);
  command.add_option("--resize", data.resize, "images: the shorter side after resizing, before --crop").at_least(1);
  command.add_option("--crop", data.crop, "images: the side of the square at the centre that is taken").at_least(1);
  command.add_flag("--skip-bad", data.skip_bad, "leave out points that cannot be read, and list them");
}

void add_device_options(const Command& command, Arguments& arguments) {
  command.add_option("--device", arguments.device.device, known_devices()).show_default();
  command.add_option("--precision", arguments.device.precision, "of products and convolutions on a GPU: float32, tf32 or bf16")
      .one_of({"float32", "tf32", "bf16"})
      .show_default();
  command.add_option("--threads", arguments.device.threads, "processor threads (default: one per core)").at_least(1);
  command.add_option("--memory", arguments.device.memory,
                     "for weights, activations, gradients and algebra, e.g. 512M (default: 2G in addition to the weights; of a "
                     "GPU: 80% of what is free)");
}

void add_question_options(const Command& command, Arguments& arguments) {
  command
      .add_option("--sigma", arguments.question.sigma,
                  "noise scales in the data's units: 0.1,0.2, or 0.01..1:20 for 20 in geometric progression")
      .one_argument_each();
  command
      .add_option("--noise", arguments.question.noise,
                  "noise models: " + known_noise() + "; on some columns with @0..3; joined with +")
      .one_argument_each();
  command.add_option("--estimator", arguments.question.estimators, "estimators, see below (default: auto)").one_argument_each();
  command.set_footer(estimators_explained);
  command.add_option("--clip", arguments.question.clip, "clip noisy copies to this range: 0,1").separated_by_commas().count(2, 2);
  command.add_option("--levels", arguments.question.levels,
                     "round noisy copies to this many evenly spaced values of the range (default range 0,1): 256");
  command.add_option("--budget", arguments.question.budget, "for auto: forwards per point").between(2.0, 1e9);
  command
      .add_option("--total-budget", arguments.question.total_budget,
                  "for auto: forwards for all points and noise models together, spent where they reduce error most")
      .between(2.0, 1e15);
  command.add_option("--target", arguments.question.target, "the class that has to survive: predicted, label, a number or a name")
      .show_default();
  command.add_option("--groups", arguments.question.groups, "classes that count as one, by number or name: 0,1/2,3,4");
  command.add_flag("--per-class", arguments.question.per_class,
                   "also the probability of every class to win: `classes` in JSON, p_class_0, p_class_1, ... in CSV");
  command.add_option("--top", arguments.question.top, "the class has to stay among the K largest logits (mc and auto only)")
      .at_least(1);
  command.add_option("--tolerance", arguments.question.tolerance,
                     "for regression models: the probability that no output changes by this much or more");
  command.add_flag("--smooth", arguments.question.smooth,
                   "fit a smooth curve to each sweep of three scales or more: 40% less error for the same passes");
  command
      .add_option("--share", arguments.question.share,
                  "what points share: none, pooled, learned or draws (default: none for probit and regression; auto decides, and "
                  "none makes its errors independent)")
      .one_of({"none", "pooled", "learned", "draws"});
  command.add_flag("--independent", arguments.question.independent, "--share none, for auto alone");
  command.add_flag("--calibrate", arguments.question.calibrate,
                   "correct probit, regression and auto by the bias that the copies of all points show, for each noise model");
  command.add_option("--seed", arguments.question.seed, "of the noise").show_default();
  command.add_flag("--no-check", arguments.no_check, "do not check first whether data, preprocessing and labels suit the model");
}

void add_reproduce_options(const Command& command, Arguments& arguments) {
  command.add_option("EXPERIMENT", arguments.reproduce.experiment, "all, or the name of one").required();
  command
      .add_option(
          "--data", arguments.data.path,
          "generated data (digits), published data (mnist, fashion-mnist, ...; see data fetch), or a file of training points")
      .required();
  command.add_option("--test", arguments.train.test, "with a file: test points");
  command.add_option("-o,--output", arguments.output, "the folder to write; what is there already is not computed again")
      .required();
  command.add_flag("--quick", arguments.reproduce.quick, "fewer epochs, points and copies");
  command.add_option("--cache", arguments.reproduce.cache, "the folder of published data (default: that of data fetch)");
  add_device_options(command, arguments);
  command.add_option("--seed", arguments.question.seed, "of generated data, training and noise").show_default();
  command.add_flag("--quiet", arguments.quiet, "no progress on stderr");
}

std::string data_options_text(const DataArguments& data) {
  std::string text;
  const auto add = [&text](const char* flag, const std::string& value) {
    if (!value.empty()) text += (text.empty() ? "" : " ") + std::string(flag) + " \"" + value + "\"";
  };
  const auto list = [](const std::vector<double>& values) {
    std::vector<std::string> texts(values.size());
    std::transform(values.begin(), values.end(), texts.begin(), shortest_text);
    return fmt::format("{}", fmt::join(texts, ","));
  };
  add("--labels", data.labels);
  add("--classes", data.classes);
  add("--label-column", data.label_column);
  if (data.scale) add("--scale", shortest_text(*data.scale));
  add("--mean", list(data.mean));
  add("--std", list(data.std));
  add("--layout", data.layout);
  if (data.cifar100) text += " --cifar100";
  if (data.limit >= 0) add("--limit", std::to_string(data.limit));
  add("--offset", std::to_string(data.offset));
  if (data.resize > 0) add("--resize", std::to_string(data.resize));
  if (data.crop > 0) add("--crop", std::to_string(data.crop));
  if (data.skip_bad) text += " --skip-bad";
  return text;
}

DataArguments parse_data_options(const std::string& path, const std::string& text) {
  Arguments arguments;
  arguments.data.path = path;
  const std::string wrong = parse_options(text, [&](const Command& line) { add_data_options(line, arguments); });
  if (!wrong.empty()) throw Error{ErrorCode::unreadable, path, "cannot be read as the run says: " + wrong, "give the data again"};
  return arguments.data;
}

Arguments parse_problem(const std::string& line, const std::string& where, const Arguments& defaults) {
  Arguments problem = defaults;
  const std::string wrong = parse_options(line, [&](const Command& command) {
    add_model(command, problem);
    command.add_option("DATA", problem.data.path, "").required();
    add_data_options(command, problem);
    command.add_option("--sigma", problem.question.sigma, "").required().one_argument_each();
  });
  if (!wrong.empty())
    throw Error{ErrorCode::usage, where, "'" + line + "' is no problem: " + wrong,
                "write for example: model.onnx points.npz --sigma 0.1,0.2"};
  return problem;
}

}  // namespace probust::cli
