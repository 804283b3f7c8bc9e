// SPDX-License-Identifier: MIT
// probust logits and probust jacobian: write the model's outputs and their Jacobians as NumPy arrays.

#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output/progress_line.h"
#include "cli/run/load.h"
#include "datasets/npy.h"
#include "datasets/unwritable.h"
#include "probust/analysis/geometry/jacobian.h"
#include "probust/base/text.h"

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

struct JacobianArguments : Arguments {
  std::string smooth;  ///< "SIGMA:N"; empty: the Jacobian at the point
};

struct Smoothing {
  Noise noise{isotropic_gaussian(), 0};
  std::int64_t samples = 0;  ///< 0: none
};

Smoothing parse_smoothing(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t colon = text.find(':');
  const auto sigma = parse_double(text.substr(0, colon));
  const auto samples = colon == std::string::npos ? std::nullopt : parse_integer(text.substr(colon + 1));
  if (!sigma || !(*sigma > 0) || !std::isfinite(*sigma) || !samples || *samples < 1 || *samples > kMostSamples)
    throw Error{ErrorCode::usage, "--smooth", "cannot be '" + text + "'",
                "give a standard deviation and a number of noisy samples, such as 0.1:50"};
  return {{isotropic_gaussian(), *sigma}, *samples};
}

// Calls `take` with the Jacobian of each point, averaged over noisy samples.
void smoothed_jacobians(Executor& executor, const Dataset& data, const Smoothing& smoothing, std::uint64_t seed,
                        const std::function<void(std::span<const float>)>& take) {
  const Points points{data.x, data.index, std::vector<std::int64_t>(data.index.size(), 0), seed};
  for (std::int64_t i = 0; i < points.size(); ++i) {
    const LogitJacobian J = averaged_jacobian(executor, points, i, smoothing.noise, smoothing.samples);
    take({J.data(), static_cast<std::size_t>(J.size())});
  }
}

int run_jacobian(const JacobianArguments& arguments) {
  const Smoothing smoothing = parse_smoothing(arguments.smooth);
  require_writable(arguments.output);
  const Dataset data = load_data(arguments);
  LoadedModel model = load_outputs(arguments, data);
  Executor& executor = model.executor();
  const std::int64_t n = data.x.shape[0], classes = executor.classes();
  NpyWriter writer(arguments.output, {n, classes, element_count(executor.point_shape())});
  const ProgressLine line("jacobian", executor.progress.passes, n * std::max<std::int64_t>(1, smoothing.samples) * (classes + 1),
                          arguments.quiet);
  return write_interruptibly(executor, arguments.output, data, [&] {
    const auto append = [&](std::span<const float> jacobian) { writer.append(jacobian); };
    if (smoothing.samples > 0) {
      smoothed_jacobians(executor, data, smoothing, arguments.question.seed, append);
    } else {
      (void)executor.jacobian(data.x, [&](std::int64_t, std::span<const float> jacobian) { append(jacobian); }).value();
    }
    writer.close();
  });
}

}  // namespace

void describe_arrays(CommandLine& line) {
  const auto add_options = [](const Command& command, Arguments& own) {
    add_model(command, own);
    add_data(command, own);
    add_device_options(command, own);
    command.add_option("-o,--output", own.output, ".npy file to write").required();
    command.add_flag("--quiet", own.quiet, "do not print progress on stderr");
  };
  auto [logits, of_logits] = line.add<Arguments>("logits", "the model's outputs, float32 [N, C]", run_logits);
  add_options(logits, of_logits);
  auto [jacobian, own] = line.add<JacobianArguments>("jacobian", "their derivatives, float32 [N, C, d]", run_jacobian);
  add_options(jacobian, own);
  jacobian.add_option("--smooth", own.smooth, "SIGMA:N: average over N noisy samples with Gaussian noise (SmoothGrad)");
  jacobian.add_option("--seed", own.question.seed, "with --smooth: random seed for the noise").show_default();
}

}  // namespace probust::cli
