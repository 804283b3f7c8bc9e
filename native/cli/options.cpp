// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "datasets/catalogue.h"
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
  for (const EstimatorDefinition& definition : all_estimators())
    text += fmt::format("  {:<26} {}\n", form(definition), definition.summary);
  return text;
}

// The lists below the options of `data`.
std::string points_explained() {
  std::string text = "Generated:\n";
  for (const MadeDataKind& kind : made_data_kinds()) text += fmt::format("  {:<15} {}\n", kind.name, kind.summary);
  text += "Part of the program:\n  iris            150 flowers of 4 numbers in three classes (Anderson, Fisher)\nPublished:\n";
  for (const Published& dataset : published_datasets()) text += fmt::format("  {:<15} {}\n", dataset.name, dataset.summary);
  text.pop_back();
  return text;
}

}  // namespace

std::string as_flag(std::string_view field) {
  std::string flag = "--" + std::string(field);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

CLI::Validator at_least(std::int64_t least) {
  const auto check = [least](const std::string& text) -> std::string {
    std::int64_t value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= least) return {};
    return "'" + text + "' is not a whole number of at least " + std::to_string(least);
  };
  return {check, ">= " + std::to_string(least)};
}

void one_argument_each(std::initializer_list<CLI::Option*> lists) {
  for (CLI::Option* list : lists) list->allow_extra_args(false);
}

void add_model(CLI::App& command, Arguments& arguments) {
  command.add_option("MODEL", arguments.model, "an ONNX file")->required();
  command.add_option("--output-name", arguments.output_name,
                     "the output or inner tensor that decides (default: the only one that can)");
  CLI::Option* shape = command.add_option("--input-shape", arguments.input_shape,
                                          "of one example, e.g. 1,3,224,224, if neither the model nor the data settle it");
  one_argument_each({shape->delimiter(',')});
}

void add_decision_options(CLI::App& command, Arguments& arguments, const std::string& threshold) {
  command.add_option(threshold, arguments.decision_threshold,
                     "of a model with one number: class 1 if it is above (default: 0 for scores, 0.5 for probabilities)");
  command.add_option_function<std::string>(
      "--outputs", [&arguments](const std::string& text) { arguments.outputs = parse_outputs(text); },
      "the values of the output that are the classes, as 0,1 or 0..9 (default: all)");
}

void add_data_options(CLI::App& command, Arguments& arguments) {
  DataArguments& data = arguments.data;
  command.add_option("--labels", data.labels, "labels from this file; for images, a table of file names and labels");
  command.add_option("--classes", data.classes,
                     "class names in the model's order, one per line: text labels are matched with them");
  command.add_option("--label-column", data.label_column, "of a .csv: an index, a name, last or none")->capture_default_str();
  command.add_option("--scale", data.scale, "stored value times this (default 1/255 for bytes, 1 otherwise)");
  one_argument_each(
      {command.add_option("--mean", data.mean, "subtracted after --scale: one per channel, or one for all")->delimiter(','),
       command.add_option("--std", data.std, "divided by after --mean: one per channel, or one for all")->delimiter(',')});
  command.add_option("--layout", data.layout, "the order the model's input wants: auto, nchw, nhwc or whcn")
      ->capture_default_str();
  command.add_flag("--cifar100", data.cifar100, "CIFAR-100 rows (two label bytes)");
  command.add_option("--limit", data.limit, "at most this many points")->check(at_least(0));
  command.add_option("--offset", data.offset, "skip this many points")->check(at_least(0));
  command.add_option("--resize", data.resize, "images: the shorter side after resizing, before --crop")->check(at_least(1));
  command.add_option("--crop", data.crop, "images: the side of the square at the centre that is taken")->check(at_least(1));
  command.add_flag("--skip-bad", data.skip_bad, "leave out points that cannot be read, and list them");
}

void add_device_options(CLI::App& command, Arguments& arguments) {
  command.add_option("--device", arguments.device.device, known_devices())->capture_default_str();
  command.add_option("--precision", arguments.device.precision, "of products and convolutions on a GPU: float32, tf32 or bf16")
      ->check(CLI::IsMember({"float32", "tf32", "bf16"}))
      ->capture_default_str();
  command.add_option("--threads", arguments.device.threads, "processor threads (default: one per core)")->check(at_least(1));
  command.add_option("--memory", arguments.device.memory,
                     "for weights, activations, gradients and algebra, e.g. 512M (default: 2G in addition to the weights; of a "
                     "GPU: 80% of what is free)");
}

void add_question_options(CLI::App& command, Arguments& arguments) {
  one_argument_each(
      {command.add_option("--sigma", arguments.sigma,
                          "noise scales in the data's units: 0.1,0.2, or 0.01..1:20 for 20 in geometric progression"),
       command.add_option("--noise", arguments.noise,
                          "noise models: " + known_noise() + "; on some columns with @0..3; joined with +"),
       command.add_option("--estimator", arguments.estimators, "estimators, see below (default: auto)")});
  command.footer(estimators_explained);
  command.add_option("--clip", arguments.clip, "clip noisy copies to this range: 0,1")->delimiter(',')->expected(2);
  command.add_option("--levels", arguments.levels,
                     "round noisy copies to this many evenly spaced values of the range (default range 0,1): 256");
  command.add_option("--budget", arguments.budget, "for auto: forwards per point")->check(CLI::Range(2.0, 1e9));
  command
      .add_option("--total-budget", arguments.total_budget,
                  "for auto: forwards for all points and noise models together, spent where they reduce error most")
      ->check(CLI::Range(2.0, 1e15));
  command.add_option("--target", arguments.target, "the class that has to survive: predicted, label, a number or a name")
      ->capture_default_str();
  command.add_option("--groups", arguments.groups, "classes that count as one, by number or name: 0,1/2,3,4");
  command.add_flag("--per-class", arguments.per_class,
                   "also the probability of every class to win: `classes` in JSON, p_class_0, p_class_1, ... in CSV");
  command.add_option("--top", arguments.top, "the class has to stay among the K largest logits (mc and auto only)")
      ->check(at_least(1));
  command.add_option("--tolerance", arguments.tolerance,
                     "for regression models: the probability that no output changes by this much or more");
  command.add_flag("--smooth", arguments.smooth,
                   "fit a smooth curve to each sweep of three scales or more: 40% less error for the same passes");
  command.add_flag("--independent", arguments.independent,
                   "auto does not let points share draws of the noise, so that their errors are independent");
  command.add_flag("--calibrate", arguments.calibrate,
                   "correct probit, regression and auto by the bias that the copies of all points show, for each noise model");
  command.add_option("--seed", arguments.seed, "of the noise")->capture_default_str();
  command.add_flag("--no-check", arguments.no_check, "do not check first whether data, preprocessing and labels suit the model");
}

void add_train_options(CLI::App& command, Arguments& arguments) {
  DataArguments& data = arguments.data;
  TrainArguments& train = arguments.train;
  command.add_option("--data", data.path, "labelled points: " + known_formats() + ", or a folder of images")->required();
  command.add_option("--model", train.model, "cnn, linear, mlp:64,64, resnet18 or vit")->capture_default_str();
  command.add_option("-o,--output", arguments.output, "the .onnx file to write")->required();
  command.add_option("--test", train.test, "data that are not trained on, for the accuracy after each epoch");
  command.add_option("--epochs", train.epochs, "passes over the data")->check(at_least(1))->capture_default_str();
  command.add_option("--lambda", train.lambda, "weight of the mean of ||grad_x loss||^2 in the loss")->capture_default_str();
  command.add_option("--augment-sigma", train.sigma, "Gaussian noise on the points, in the data's units")->capture_default_str();
  command.add_flag("--augment-flip", train.flip, "mirror images at random");
  command.add_option("--augment-crop", train.crop, "move images at random by up to this many pixels")->check(at_least(0));
  command.add_option("--optimizer", train.optimizer, "adam or sgd")->capture_default_str();
  command.add_option("--rate", train.rate, "learning rate")->capture_default_str();
  command.add_option("--schedule", train.schedule, "of the rate: cosine, to 0 in the last epoch, or constant")
      ->capture_default_str();
  command.add_option("--momentum", train.momentum, "of sgd")->capture_default_str();
  command.add_option("--decay", train.decay, "weight decay, not of biases")->capture_default_str();
  command.add_option("--batch", train.batch, "points per step")->check(at_least(1))->capture_default_str();
  command.add_option("--activation", train.activation, "of cnn and mlp: relu, tanh, gelu or silu")->capture_default_str();
  command.add_option("--seed", arguments.seed, "of initial weights, orders and augmentation")->capture_default_str();
  command.add_option("--memory", arguments.device.memory, "for weights and a batch, and as much for activations (default: 2G)");
  command.add_option("--labels", data.labels, "labels from this file");
  command.add_option("--label-column", data.label_column, "of a .csv: an index, a name or last")->capture_default_str();
  command.add_option("--classes", data.classes, "class names in the order of the classes, one per line");
  command.add_option("--scale", data.scale, "stored value times this (default 1/255 for bytes, 1 otherwise)");
  command.add_flag("--cifar100", data.cifar100, "CIFAR-100 rows (two label bytes)");
  command.add_option("--limit", data.limit, "at most this many points")->check(at_least(1));
  command.add_option("--offset", data.offset, "skip this many points")->check(at_least(0));
  command.add_flag("--skip-bad", data.skip_bad, "leave out points that cannot be read, and list them");
  command.add_flag("--force-new", arguments.force_new, "begin anew if there is a checkpoint");
  command.add_flag("--json", arguments.json, "one JSON object");
  command.add_flag("--quiet", arguments.quiet, "no progress on stderr");
  command.footer(
      "After every epoch and when interrupted, the state is written to OUTPUT.checkpoint. The same command goes on from there; "
      "when the model is written, the checkpoint is removed. If the loss is no longer finite, it keeps the last good state, "
      "from which a smaller --rate can go on.");
}

void add_point_options(CLI::App& command, Arguments& arguments) {
  PointArguments& points = arguments.points;
  command.add_option("WHAT", points.what, "what to write, as below, or fetch")->required();
  command.add_option("NAME", points.name, "with fetch: the data set, as below");
  command.add_option("-o,--output", arguments.output,
                     "the file to write: .npz with x and y, or .csv for points that are no images");
  command.add_option("--count", points.count, "points to generate (default: 1000)")->check(at_least(1));
  command.add_option("--classes", points.classes, "of generated points (default: the kind's own)")->check(at_least(1));
  command.add_option("--noise", points.noise, "standard deviation of what is added to every number (default: the kind's own)");
  command.add_option("--side", points.side, "pixels per side of generated images (default: 28)")->check(at_least(1));
  command.add_option("--seed", arguments.seed, "of generated points")->capture_default_str();
  command.add_option("--from", points.from, "fetch from this folder, or from the URL of one");
  command.add_option("--cache", points.cache,
                     "the folder that keeps what is fetched (default: $PROBUST_CACHE, or $XDG_CACHE_HOME/probust, or "
                     "~/.cache/probust)");
  command.add_flag("--unverified", points.unverified, "with --from FOLDER: take files that are not as published");
  command.add_flag("--json", arguments.json, "one JSON object");
  command.add_flag("--quiet", arguments.quiet, "no progress on stderr");
  command.footer(points_explained);
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
  CLI::App app;
  add_data_options(app, arguments);
  try {
    app.parse(text);
  } catch (const CLI::ParseError& error) {
    throw Error{ErrorCode::unreadable, path, std::string("cannot be read as the run says: ") + error.what(),
                "give the data again"};
  }
  return arguments.data;
}

Arguments parse_problem(const std::string& line, const std::string& where, const Arguments& defaults) {
  Arguments problem = defaults;
  CLI::App app;
  add_model(app, problem);
  app.add_option("DATA", problem.data.path, "")->required();
  add_data_options(app, problem);
  one_argument_each({app.add_option("--sigma", problem.sigma, "")->required()});
  try {
    app.parse(line);
  } catch (const CLI::ParseError& error) {
    throw Error{ErrorCode::usage, where, std::string("'") + line + "' is no problem: " + error.what(),
                "write for example: model.onnx points.npz --sigma 0.1,0.2"};
  }
  return problem;
}

}  // namespace probust::cli
