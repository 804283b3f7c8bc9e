// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/devices.h"
#include "probust/base/error.h"

namespace probust::cli {

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
  command.add_option("--output-name", arguments.output_name, "the output to take as logits");
  CLI::Option* shape = command.add_option("--input-shape", arguments.input_shape,
                                          "of one example, e.g. 1,3,224,224, if neither the model nor the data settle it");
  one_argument_each({shape->delimiter(',')});
}

void add_data_options(CLI::App& command, Arguments& arguments) {
  DataArguments& data = arguments.data;
  command.add_option("--labels", data.labels, "labels from this file");
  command.add_option("--classes", data.classes, "class names, one per line");
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
}

void add_device_options(CLI::App& command, Arguments& arguments) {
  command.add_option("--device", arguments.device.device, known_devices())->capture_default_str();
  command
      .add_option("--precision", arguments.device.precision,
                  "of products and convolutions with --device cuda: float32, tf32 or bf16")
      ->check(CLI::IsMember({"float32", "tf32", "bf16"}))
      ->capture_default_str();
  command.add_option("--threads", arguments.device.threads, "processor threads (default: one per core)")->check(at_least(1));
  command.add_option("--memory", arguments.device.memory,
                     "for weights, activations, gradients and algebra, e.g. 512M (default: 2G in addition to the weights)");
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
