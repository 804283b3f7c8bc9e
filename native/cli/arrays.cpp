// SPDX-License-Identifier: MIT
// probust logits and probust jacobian: arrays in numpy's format.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/load.h"
#include "cli/progress_line.h"
#include "datasets/npy.h"

namespace probust::cli {
namespace {

int interrupted(const std::string& output) {
  fmt::print(stderr, "probust: interrupted; {} is not complete\n", output);
  return kInterrupted;
}

}  // namespace

int run_logits(const Arguments& arguments) {
  const Dataset data = load_data(arguments.data);
  const Model model = load_model(arguments, point_shape(data.x));
  const auto executor = load_executor(model, point_shape(data.x), arguments);
  const StopOnSignal stop(executor->progress);
  const auto logits = executor->logits(data.x);
  if (executor->progress.stop) return interrupted(arguments.output);
  write_npy(arguments.output, logits.value());
  return 0;
}

int run_jacobian(const Arguments& arguments) {
  const Dataset data = load_data(arguments.data);
  const Model model = load_model(arguments, point_shape(data.x));
  const auto executor = load_executor(model, point_shape(data.x), arguments);
  const StopOnSignal stop(executor->progress);
  const std::int64_t n = data.x.shape[0], classes = executor->classes();
  NpyWriter writer(arguments.output, {n, classes, element_count(executor->point_shape())});
  const ProgressLine line("jacobian", executor->progress.passes, n * (classes + 1), arguments.quiet);
  const auto done = executor->jacobian(data.x, [&](std::int64_t, std::span<const float> jacobian) { writer.append(jacobian); });
  if (executor->progress.stop) return interrupted(arguments.output);
  (void)done.value();
  writer.close();
  return 0;
}

}  // namespace probust::cli
