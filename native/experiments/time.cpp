// SPDX-License-Identifier: MIT
// The time of each estimator, both with single passes on single points, as in the paper's serial figures, and in batches; and
// the memory of a whole process.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <optional>
#include <thread>

#include "cli/clock.h"
#include "cli/devices.h"
#include "cli/run/load.h"
#include "experiments/answers.h"
#include "experiments/experiments.h"
#include "experiments/study.h"
#include "probust/base/text.h"
#include "probust/estimators/estimator.h"
#include "probust/perturb/noise_text.h"
#include "report/words.h"

namespace probust::cli::reproduce {
namespace {

constexpr std::int64_t kPoints = 50;  // as in the paper

struct Times {
  std::string estimator, device;
  double serial = std::nan(""), batched = std::nan("");  // seconds for all points
  double megabytes = std::nan("");                       // memory of a process that runs only this estimator
};

class Clocked {
 public:
  Clocked(const Study& study, const std::string& model, const Tensor& x, const std::string& device, std::int64_t batch)
      : sigma_(study.middle_sigma()) {
    Arguments arguments = study.arguments();
    arguments.model = model;
    arguments.device.device = device;
    arguments.device.threads = 1;
    LoadOptions options = load_options(arguments, point_shape(x), batch);
    options.decide = false;
    model_.emplace(load_model(arguments, options));
    logits_ = model_->logits(x);
    points_ = points_of(x, predicted_classes(logits_), 0, study.seed());
  }

  // The time for all points, either in one call or, if `one_by_one`, in one call per point.
  double seconds(const std::string& estimator, bool one_by_one) {
    const Noise noise = parse_noise("gaussian:" + shortest_text(sigma_), {});
    const EstimatorSpec spec = parse_estimator(estimator);
    const Stopwatch watch;
    for (std::int64_t i = 0; i < (one_by_one ? points_.x.shape[0] : 1); ++i) {
      Evaluation evaluation = one_by_one ? only(i) : Evaluation(model_->executor(), points_, logits_);
      (void)estimate(evaluation, noise, spec).value();
    }
    return watch.seconds();
  }

 private:
  Evaluation only(std::int64_t i) {
    return {model_->executor(), points_of(rows(points_.x, i, 1), {points_.target[static_cast<std::size_t>(i)]}, i, points_.seed),
            rows(logits_, i, 1)};
  }

  double sigma_;
  std::optional<LoadedModel> model_;
  Tensor logits_;
  Points points_;
};

// The largest resident memory of a process so far, in megabytes; 0 if the system does not report it. wait4 is not used, because
// it would return the parent's memory if that were larger: a child starts with the memory of its parent.
double resident_peak(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes / 1024;
  }
  return 0;
}

// The largest resident memory of `probust estimate` with one thread, in megabytes; NaN if the program cannot be started.
double megabytes(const Study& study, const std::string& model, const std::string& estimator) {
  const std::string limit = std::to_string(kPoints), sigma = shortest_text(study.middle_sigma());
  std::vector<std::string> words = {"probust", "estimate",    model,     study.subject().test, "--limit", limit,      "--sigma",
                                    sigma,     "--estimator", estimator, "--threads",          "1",       "--format", "csv",
                                    "--quiet"};
  if (study.subject().cifar100) words.emplace_back("--cifar100");
  std::vector<char*> arguments(words.size() + 1, nullptr);  // the last one stays null
  std::transform(words.begin(), words.end(), arguments.begin(), [](std::string& word) { return word.data(); });
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return std::nan("");
  int status = 0;
  double peak = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    peak = std::max(peak, resident_peak(child));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return status == 0 && peak > 0 ? peak : std::nan("");
}

double samples_of(const std::string& estimator) { return parse_double(split(estimator, ':').back()).value_or(1); }

// Measures all estimators on a device. Serial times are measured only up to `most_serial` samples; for more samples, the time
// would be proportional to their number.
std::vector<Times> measured(const Study& study, const std::string& model, const Tensor& x, const std::string& device,
                            const std::vector<std::string>& estimators) {
  const double most_serial = study.quick() ? 200 : 1000;
  const bool on_processor = device == study.arguments().device.device;
  Clocked serial(study, model, x, device, 1), batched(study, model, x, device, 0);
  (void)batched.seconds("mc:10", false);  // not measured: the first call allocates memory
  std::vector<Times> all;
  for (const std::string& estimator : estimators) {
    Times times{estimator, device};
    if (samples_of(estimator) <= most_serial) times.serial = serial.seconds(estimator, true);
    times.batched = batched.seconds(estimator, false);
    if (on_processor) times.megabytes = megabytes(study, model, estimator);
    all.push_back(times);
  }
  return all;
}

const Times& of(const std::vector<Times>& all, const std::string& estimator) {
  return *std::find_if(all.begin(), all.end(), [&](const Times& times) { return times.estimator == estimator; });
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "";
  return seconds < 1 ? fmt::format("{} ms", report::rounded(1000 * seconds)) : fmt::format("{} s", report::rounded(seconds));
}

}  // namespace

Findings time(Study& study) {
  const TrainedModel network = study.network();
  const Tensor x = rows(study.test().x, 0, std::min(kPoints, study.test().x.shape[0]));
  const std::vector<std::string> estimators = {"mc:100",   "mc:1000",   "mc:10000",      "taylor",  "taylor_mvs",
                                               "mmse:1",   "mmse:5",    "mmse:10",       "mmse:25", "mmse:50",
                                               "mmse:100", "probit:50", "regression:50", "auto:50"};
  const std::string device = study.arguments().device.device;
  std::vector<Times> all = measured(study, network.path, x, device, estimators);
  if (leaves_device_idle(study.arguments())) {
    const std::vector<Times> gpu = measured(study, network.path, x, "auto", estimators);
    all.insert(all.end(), gpu.begin(), gpu.end());
  }
  const Times &mc = of(all, "mc:10000"), &taylor = of(all, "taylor"), &mmse = of(all, "mmse:5");
  Findings findings;
  findings.method.push_back(
      fmt::format("{} points at sigma {}, one thread. Each figure is a single measurement. Serial: every point by itself, "
                  "one noisy sample at a time. Batched: as probust does by default. Memory: the largest resident size of a "
                  "process that loads "
                  "the model and makes these estimates.",
                  x.shape[0], study.middle_sigma()));
  findings.claims = {
      {"taylor takes 8 s and Monte Carlo with 10,000 samples 1 h 41 min for 50 points: 760 times as long (CPU, ResNet-18).",
       "section 4.2, table 1",
       fmt::format("Here taylor takes {} and mc:10000 {}: {:.0f} times as long.", seconds_text(taylor.batched),
                   seconds_text(mc.batched), mc.batched / taylor.batched),
       verdict_of(mc.batched > 10 * taylor.batched)},
      {"mmse with 5 samples takes 41 s: Monte Carlo with 10,000 samples takes 148 times as long.", "section 4.2, table 1",
       fmt::format("Here mmse:5 takes {}, mc:10000 {:.0f} times as long. The experiment “error” compares their errors.",
                   seconds_text(mmse.batched), mc.batched / mmse.batched),
       verdict_of(mc.batched > 10 * mmse.batched)},
      {"A sample of mmse costs about three times as much as one of Monte Carlo (one forward and one backward pass).",
       "section 4.2",
       fmt::format("Here a sample of mmse:100 costs {:.1f} times as much as one of mc:1000, for {} classes, whose margins have a "
                   "backward pass each.",
                   of(all, "mmse:100").batched / 100 / (of(all, "mc:1000").batched / 1000), study.subject().classes),
       verdict_of(of(all, "mmse:100").batched / 100 / (of(all, "mc:1000").batched / 1000) < 4)}};
  report::Chart chart;
  chart.title = fmt::format("Time for {} points", x.shape[0]);
  chart.mark = report::Mark::bar;
  chart.y = {.label = "seconds", .logarithmic = true};
  report::Series serial{"serial", {}}, batched{"batched", {}};
  Sheet sheet{"time", "Seconds for all points, and the memory of a process.",
              columns({"estimator", "device", "serial", "batched", "serial / batched", "memory"}, {0, 1})};
  for (const Times& times : all) {
    sheet.rows.push_back({times.estimator, times.device, seconds_text(times.serial), seconds_text(times.batched),
                          std::isfinite(times.serial) ? fmt::format("{:.1f}", times.serial / times.batched) : "",
                          std::isfinite(times.megabytes) ? fmt::format("{:.0f} MB", times.megabytes) : ""});
    if (times.device != device) continue;
    const double at = static_cast<double>(chart.x.categories.size());
    serial.points.push_back({at, times.serial});
    batched.points.push_back({at, times.batched});
    chart.x.categories.push_back(times.estimator);
  }
  chart.series = {serial, batched};
  findings.figures = {
      {"time", "Serial Monte Carlo with many samples was not measured: its time is proportional to their number.", chart}};
  findings.sheets = {sheet};
  return findings;
}

}  // namespace probust::cli::reproduce
