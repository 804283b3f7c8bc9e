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
#include "probust/perturb/noise_text.h"

namespace probust::cli {
namespace {

// The list of estimators below the help of `estimate`.
std::string estimators_explained() {
  std::string text = "Estimators:\n";
  for (const EstimatorDefinition& definition : all_estimators()) {
    if (definition.variant.empty()) text += fmt::format("  {:<13} {}\n", form(definition), definition.summary);
  }
  return text + "Variants such as mmse:N:loo and mc:N:stratified are for comparisons; see Estimators in the documentation.\n";
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
                     "output or inner tensor that determines the class (default: the only suitable one)");
  command
      .add_option("--input-shape", arguments.input_shape,
                  "shape of one example, e.g. 1,3,224,224, if neither model nor data determine it")
      .separated_by_commas()
      .one_argument_each();
}

void add_decision_options(const Command& command, Arguments& arguments, const std::string& threshold) {
  command.add_option(
      threshold, arguments.decision_threshold,
      "for models with one output number: class 1 if it is above this (default: 0 for scores, 0.5 for probabilities)");
  command.add_option_function(
      "--outputs", [&arguments](const std::string& text) { arguments.outputs = parse_outputs(text); },
      "output values to use as classes, e.g. 0,1 or 0..9 (default: all)");
}

void add_data(const Command& command, Arguments& arguments) {
  command.add_option("DATA", arguments.data.path, known_formats() + ", or a folder of PNG or JPEG images").required();
  add_data_options(command, arguments);
}

void add_data_options(const Command& command, Arguments& arguments) {
  DataArguments& data = arguments.data;
  command.add_option("--labels", data.labels, "file of labels; for images, a table of file names and labels");
  command.add_option("--classes", data.classes,
                     "file of class names in the model's order, one per line, to match text labels with");
  command.add_option("--label-column", data.label_column, "label column of a .csv: an index, a name, last or none")
      .show_default();
  command.add_option("--scale", data.scale, "multiply stored values by this (default: 1/255 for bytes, otherwise 1)");
  command.add_option("--mean", data.mean, "subtract this after --scale: one number per channel, or one for all")
      .separated_by_commas()
      .one_argument_each();
  command.add_option("--std", data.std, "divide by this after --mean: one number per channel, or one for all")
      .separated_by_commas()
      .one_argument_each();
  command.add_option("--layout", data.layout, "axis order of the model's input: auto, nchw, nhwc or whcn").show_default();
  command.add_flag("--cifar100", data.cifar100, "read CIFAR-100 rows (two label bytes)");
  command.add_option("--limit", data.limit, "read at most this many points").at_least(0);
  command.add_option("--offset", data.offset, "skip this many points").at_least(0);
  command.add_option("--resize", data.resize, "resize images so that the shorter side has this many pixels, before --crop")
      .at_least(1);
  command.add_option("--crop", data.crop, "crop images to a central square of this side").at_least(1);
  command.add_flag("--skip-bad", data.skip_bad, "skip unreadable points, and list them");
}

void add_device_options(const Command& command, Arguments& arguments) {
  command.add_option("--device", arguments.device.device, known_devices()).show_default();
  command
      .add_option("--precision", arguments.device.precision,
                  "precision of products and convolutions on a GPU: float32, tf32 or bf16")
      .one_of({"float32", "tf32", "bf16"})
      .show_default();
  command.add_option("--threads", arguments.device.threads, "number of threads (default: one per core)").at_least(1);
  command.add_option(
      "--memory", arguments.device.memory,
      "memory limit for weights, activations, gradients and statistics of margins, e.g. 512M (default: 2G plus the weights; on a "
      "GPU, 80% of free memory)");
}

void add_question_options(const Command& command, Arguments& arguments) {
  command
      .add_option("--sigma", arguments.question.sigma,
                  "noise scales in the data's units: 0.1,0.2, or 0.01..1:20 for 20 in geometric progression")
      .one_argument_each();
  command
      .add_option("--noise", arguments.question.noise,
                  "noise models: " + known_noise() + "; @0..3 limits one to columns, + joins several")
      .one_argument_each();
  command.add_option("--estimator", arguments.question.estimators, "estimators, see below (default: auto)").one_argument_each();
  command.set_footer(estimators_explained);
  command
      .add_option("--clip", arguments.question.clip,
                  "clip noisy samples to this range, e.g. 0,1, or columns to ranges: 0,1@0..3+0,9@4")
      .separated_by_commas()
      .count(2, 1000);
  command.add_option("--levels", arguments.question.levels,
                     "round noisy samples to this many evenly spaced values in the --clip range (0,1 without --clip), e.g. 256");
  command.add_option("--budget", arguments.question.budget, "for auto: forward passes per point").between(2.0, 1e9);
  command
      .add_option("--total-budget", arguments.question.total_budget,
                  "for auto: forward passes for all points and noise models together, spent where they reduce the error most")
      .between(2.0, 1e15);
  command.add_option("--target", arguments.question.target, "class that has to survive: predicted, label, a number or a name")
      .show_default();
  command.add_option("--groups", arguments.question.groups,
                     "groups of classes, separated by /; the classes of a group (numbers or names) count as one, e.g. 0,1/2,3,4");
  command.add_flag("--per-class", arguments.question.per_class,
                   "also give the probability of each class: `classes` in JSON, p_class_0, p_class_1, ... in CSV");
  command
      .add_option("--top", arguments.question.top,
                  "count the target as surviving if it is among the K largest logits (mc and auto only)")
      .at_least(1);
  command
      .add_option(
          "--tolerance", arguments.question.tolerance,
          "for regression models: the probability that no output changes by this much or more; one number, or one per output")
      .separated_by_commas();
  command.add_flag("--smooth", arguments.question.smooth,
                   "fit a smooth curve to each sweep of three or more scales: 40% less error for the same passes");
  command
      .add_option("--share", arguments.question.share,
                  "what points share: none, pooled, learned or draws (default: none for probit and regression; auto chooses, "
                  "and none makes its errors independent)")
      .one_of({"none", "pooled", "learned", "draws"});
  command.add_flag("--independent", arguments.question.independent, "apply --share none to auto only");
  command.add_flag(
      "--calibrate", arguments.question.calibrate,
      "correct the bias of probit, regression and auto, as measured by the noisy samples of all points, per noise model");
  command.add_option("--seed", arguments.question.seed, "random seed for the noise").show_default();
  command.add_flag("--no-check", arguments.no_check, "skip the check of data, preprocessing and labels");
}

void add_picture_options(const Command& command, Arguments& arguments) {
  AnalysisArguments& own = arguments.analysis;
  command.add_option("--data", own.images, "the run's data, for images, if the files have moved");
  command.add_option("--model", own.models, "the run's model, for wrong versions of images, if the file has moved; repeatable")
      .one_argument_each();
  command
      .add_option("--samples", own.samples, "noisy samples of each image to search for a wrong version; 0 turns the search off")
      .at_least(0)
      .show_default();
}

void add_reproduce_options(const Command& command, Arguments& arguments) {
  command.add_option("EXPERIMENT", arguments.reproduce.experiment, "all, or the name of an experiment").required();
  command
      .add_option(
          "--data", arguments.data.path,
          "generated data (digits), published data (mnist, fashion-mnist, ...; see data fetch), or a file of training points")
      .required();
  command.add_option("--test", arguments.train.test, "file of test points, if --data is a file");
  command.add_option("-o,--output", arguments.output, "folder to write; results already in it are reused").required();
  command.add_flag("--quick", arguments.reproduce.quick, "use fewer epochs, points and noisy samples");
  command.add_option("--cache", arguments.reproduce.cache, "folder of published data (default: that of data fetch)");
  add_device_options(command, arguments);
  command.add_option("--seed", arguments.question.seed, "random seed for generated data, training and noise").show_default();
  command.add_flag("--quiet", arguments.quiet, "do not print progress on stderr");
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
  if (!wrong.empty())
    throw Error{ErrorCode::unreadable, path, "cannot be read with the options of the run: " + wrong,
                "give the data and their options again"};
  return arguments.data;
}

Arguments parse_problem(const std::string& line, const std::string& where, const Arguments& defaults) {
  Arguments problem = defaults;
  const std::string wrong = parse_options(line, [&](const Command& command) {
    add_model(command, problem);
    command.add_option("DATA", problem.data.path, "").required();
    add_data_options(command, problem);
    command.add_option("--sigma", problem.question.sigma, "").one_argument_each();
    command.add_option("--noise", problem.question.noise, "").one_argument_each();
  });
  if (!wrong.empty())
    throw Error{ErrorCode::usage, where, "is '" + line + "', which cannot be parsed: " + wrong,
                "try model.onnx points.npz --sigma 0.1,0.2"};
  return problem;
}

}  // namespace probust::cli
