// SPDX-License-Identifier: MIT
// probust logits and probust jacobian: arrays in numpy's format.
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/load.h"
#include "cli/progress_line.h"
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
  return run_interruptibly(executor.progress.stop, work, [&] { return output + " is not complete"; });
}

}  // namespace

int run_logits(const Arguments& arguments) {
  require_writable(arguments.output);
  const Dataset data = load_data(arguments);
  const Model model = load_model(arguments, point_shape(data.x));
  const auto executor = load_executor(model, point_shape(data.x), arguments);
  return write_interruptibly(*executor, arguments.output, data,
                             [&] { write_npy(arguments.output, executor->logits(data.x).value()); });
}

int run_jacobian(const Arguments& arguments) {
  require_writable(arguments.output);
  const Dataset data = load_data(arguments);
  const Model model = load_model(arguments, point_shape(data.x));
  const auto executor = load_executor(model, point_shape(data.x), arguments);
  const std::int64_t n = data.x.shape[0], classes = executor->classes();
  NpyWriter writer(arguments.output, {n, classes, element_count(executor->point_shape())});
  const ProgressLine line("jacobian", executor->progress.passes, n * (classes + 1), arguments.quiet);
  return write_interruptibly(*executor, arguments.output, data, [&] {
    (void)executor->jacobian(data.x, [&](std::int64_t, std::span<const float> jacobian) { writer.append(jacobian); }).value();
    writer.close();
  });
}

}  // namespace probust::cli
