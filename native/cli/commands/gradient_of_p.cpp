// SPDX-License-Identifier: MIT
// probust gradient-of-p: writes the gradients of p with respect to each point as a NumPy array, and maps of them as pictures.
#include "probust/estimators/gradient/gradient_of_p.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output/gradient_maps.h"
#include "cli/output/progress_line.h"
#include "cli/output/text_file.h"
#include "cli/run/first_check.h"
#include "cli/run/load.h"
#include "cli/run/problem.h"
#include "datasets/noise_files.h"
#include "datasets/npy.h"
#include "datasets/unwritable.h"
#include "probust/run/request.h"

namespace probust::cli {
namespace {

struct GradientArguments : Arguments {
  std::string estimator = "taylor";
  std::string std_error, maps;  ///< paths of other files to write; empty: none
};

constexpr std::int64_t kPointsAtOnce = 64;
constexpr std::int64_t kMostMaps = 20;

void check_outputs(const GradientArguments& arguments) {
  require_ending("--output", arguments.output, ".npy");
  require_writable(arguments.output);
  if (!arguments.std_error.empty()) {
    require_ending("--std-error", arguments.std_error, ".npy");
    require_writable(arguments.std_error);
    if (arguments.std_error == arguments.output)
      throw Error{ErrorCode::usage, "--std-error", "is the file of --output", "give another file"};
    if (!arguments.estimator.starts_with("mc"))
      throw Error{ErrorCode::usage, "--std-error", "applies only to mc:N, whose gradients are estimated from noisy samples",
                  "leave it out"};
  }
  if (!arguments.maps.empty()) {
    require_ending("--maps", arguments.maps, ".png");
    require_writable(arguments.maps);
  }
}

Noise only_noise(const GradientArguments& arguments) {
  const std::vector<Noise> noises = parse_noises(arguments, datasets::noise_files());
  if (noises.size() != 1)
    throw Error{ErrorCode::usage, "gradient-of-p", "needs one noise model, not " + std::to_string(noises.size()), "give one"};
  return noises[0];
}

// The points of the data, with their targets.
Points read_all(Problem& problem) {
  PointBlock block = read_points(problem, first_position(problem), point_count(problem));
  report_bad(skipped_points(problem.data->bad()));
  const Tensor logits = problem.model.logits(block.x);
  const QuestionArguments& question = problem.arguments.question;
  std::vector<std::int64_t> targets = targets_of(question.target, block.labels, logits, problem.class_names);
  return {std::move(block.x), std::move(block.index), std::move(targets), question.seed};
}

class GradientFiles {
 public:
  GradientFiles(const GradientArguments& arguments, const Points& points)
      : gradients_(arguments.output, points.x.shape), maps_(arguments.maps.empty() ? 0 : kMostMaps) {
    if (!arguments.std_error.empty()) std_errors_.emplace(arguments.std_error, points.x.shape);
  }

  void add(const Points& points, const GradientOfP& found) {
    gradients_.append(found.gradient.data);
    if (std_errors_) std_errors_->append(found.std_error.data);
    for (std::int64_t i = 0; i < points.size() && maps_.size() < maps_.capacity(); ++i) maps_.add(points, found, i);
    for (const std::string& warning : found.warnings) {
      if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end()) warnings_.push_back(warning);
    }
  }

  void close(const GradientArguments& arguments) {
    gradients_.close();
    if (std_errors_) std_errors_->close();
    if (!arguments.maps.empty()) maps_.write(arguments.maps);
    say_warnings(warnings_);
  }

 private:
  NpyWriter gradients_;
  std::optional<NpyWriter> std_errors_;
  GradientMaps maps_;
  std::vector<std::string> warnings_;
};

int run_gradient(const GradientArguments& arguments) {
  check_outputs(arguments);
  const Noise noise = only_noise(arguments);
  const EstimatorSpec estimator = parse_estimator(arguments.estimator);
  Problem problem = load_problem(arguments, {noise});
  report_notes(problem.notes, arguments.quiet);
  Executor& executor = problem.model.executor();
  const std::int64_t planned = point_count(problem) * estimator.passes(executor.classes());
  say_warnings(first_check(problem, {noise}, planned).warnings);
  const Points points = read_all(problem);
  if (!arguments.maps.empty()) require_images(point_shape(points.x), arguments.maps);
  GradientFiles files(arguments, points);
  const auto work = [&] {
    const ProgressLine line("gradient-of-p", executor.progress.passes, planned, arguments.quiet);
    for (std::int64_t first = 0; first < points.size(); first += kPointsAtOnce) {
      const Points some = slice(points, first, std::min(kPointsAtOnce, points.size() - first));
      files.add(some, gradient_of_p(executor, some, noise, estimator).value());
    }
    files.close(arguments);
    return 0;
  };
  return run_interruptibly(executor.progress.stop, work, [&] { return arguments.output + " is incomplete"; });
}

}  // namespace

void describe_gradient_of_p(CommandLine& line) {
  auto [command, own] =
      line.add<GradientArguments>("gradient-of-p", "derivatives of p with respect to each element of each point", run_gradient);
  add_model(command, own);
  add_decision_options(command, own);
  add_data(command, own);
  add_device_options(command, own);
  command.add_option("--sigma", own.question.sigma, "standard deviation of Gaussian noise, in the data's units")
      .one_argument_each();
  command.add_option("--noise", own.question.noise, "additive noise model, as for estimate").one_argument_each();
  command.add_option("--estimator", own.estimator, "taylor, taylor_mvs, adf, mmse:N, mmse_mvs:N or mc:N").show_default();
  command.add_option("--target", own.question.target, "class that must survive: predicted, label, a number or a name")
      .show_default();
  command.add_option("-o,--output", own.output, ".npy file to write: float32, shaped like the data").required();
  command.add_option("--std-error", own.std_error, "with mc:N: also write the standard errors to this .npy file");
  command.add_option("--maps", own.maps, "also write maps of the first 20 images to this .png file");
  command.add_option("--seed", own.question.seed, "random seed for the noise").show_default();
  command.add_flag("--no-check", own.no_check, "skip the check of data, preprocessing and labels");
  command.add_flag("--quiet", own.quiet, "do not print progress on stderr");
  command.set_footer(
      "The derivative is that of the estimator's own p; mc:N estimates that of the true p. In maps, red elements raise p if "
      "they\n"
      "grow, and blue ones lower it; each map has its own scale.");
}

}  // namespace probust::cli
