// SPDX-License-Identifier: MIT
// probust logits and probust jacobian: write the model's outputs and their Jacobians as NumPy arrays.

#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output/progress_line.h"
#include "cli/run/load.h"
#include "datasets/npy.h"
#include "datasets/unwritable.h"

namespace probust::cli {
namespace {

int write_interruptibly(Executor& executor, const std::string& output, const Dataset& data, const std::function<void()>& write) {
  const auto work = [&] {
    write();
    report_bad(skipped_points(data.bad));
    return 0;
  };
  return run_interruptibly(executor.progress.stop, work, [&] { return output + " is incomplete"; });
}

// Loads the model without a decision rule, so that the logits are the model's raw outputs.
LoadedModel load_outputs(const Arguments& arguments, const Dataset& data) {
  LoadOptions options = load_options(arguments, point_shape(data.x));
  options.decide = false;
  return load_model(arguments, options);
}

int run_logits(const Arguments& arguments) {
  require_writable(arguments.output);
  const Dataset data = load_data(arguments);
  LoadedModel model = load_outputs(arguments, data);
  return write_interruptibly(model.executor(), arguments.output, data,
                             [&] { write_npy(arguments.output, model.logits(data.x)); });
}

int run_jacobian(const Arguments& arguments) {
  require_writable(arguments.output);
  const Dataset data = load_data(arguments);
  LoadedModel model = load_outputs(arguments, data);
  Executor& executor = model.executor();
  const std::int64_t n = data.x.shape[0], classes = executor.classes();
  NpyWriter writer(arguments.output, {n, classes, element_count(executor.point_shape())});
  const ProgressLine line("jacobian", executor.progress.passes, n * (classes + 1), arguments.quiet);
  return write_interruptibly(executor, arguments.output, data, [&] {
    (void)executor.jacobian(data.x, [&](std::int64_t, std::span<const float> jacobian) { writer.append(jacobian); }).value();
    writer.close();
  });
}

}  // namespace

void describe_arrays(CommandLine& line) {
  const auto describe = [&](const char* name, const char* what, int (*run)(const Arguments&)) {
    auto [command, own] = line.add<Arguments>(name, what, run);
    add_model(command, own);
    add_data(command, own);
    add_device_options(command, own);
    command.add_option("-o,--output", own.output, ".npy file to write").required();
    command.add_flag("--quiet", own.quiet, "do not print progress on stderr");
  };
  describe("logits", "the model's outputs, float32 [N, C]", run_logits);
  describe("jacobian", "their derivatives, float32 [N, C, d]", run_jacobian);
}

}  // namespace probust::cli
