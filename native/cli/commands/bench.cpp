// SPDX-License-Identifier: MIT
// probust bench: measures the cost of a forward pass and of a full margin Jacobian, with the calls that `estimate` makes. A
// forward is one noisy sample of mc:N, including the drawing of noise and the counting; a Jacobian is one linearization of
// taylor, including its Gram matrix. Also measures the time per kind of layer. Large models get fewer repetitions and batch
// sizes, so that the command takes less than a minute.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "cli/clock.h"
#include "cli/command_line.h"
#include "cli/commands/frontier.h"
#include "cli/options.h"
#include "cli/run/load.h"
#include "datasets/dataset.h"
#include "datasets/json.h"
#include "probust/ops/memory_traffic.h"
#include "probust/ops/op.h"

namespace probust::cli {
namespace {

constexpr double kSeconds = 0.25;     // time for all repetitions of a measurement
constexpr int kRepeats = 5;           // repetitions, whose median is used
constexpr double kSecondsOfAll = 12;  // time for all batch sizes of the forward pass; the same for the Jacobian
constexpr double kSlowestCall = 1.5;  // batch sizes are skipped if one call is expected to take more seconds than this
constexpr double kKindsShown = 0.01;  // kinds of layers with a smaller share of the time are not listed

// Seconds per call: the median over kRepeats measurements, each with enough calls to take kSeconds / kRepeats. If the first
// call takes more than 4 kSeconds, its time is returned.
double seconds_per_call(const std::function<void()>& call) {
  const Stopwatch first_watch;
  call();
  const double first = first_watch.seconds();
  if (first > 4 * kSeconds) return first;
  std::vector<double> times;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const Stopwatch watch;
    int calls = 0;
    double elapsed = 0;
    do {
      call();
      ++calls;
      elapsed = watch.seconds();
    } while (elapsed < kSeconds / kRepeats);
    times.push_back(elapsed / calls);
  }
  std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
  return times[kRepeats / 2];
}

// The speed of Eigen's product of square matrices on one thread, for comparison with the speed of a forward pass.
double gemm_gflops() {
  constexpr int kSize = 768;
  const Eigen::MatrixXf a = Eigen::MatrixXf::Random(kSize, kSize), b = Eigen::MatrixXf::Random(kSize, kSize);
  Eigen::MatrixXf result(kSize, kSize);
  return 2e-9 * std::pow(kSize, 3) / seconds_per_call([&] { product(a, b, result); });
}

Points random_points(const Shape& shape, std::int64_t count) {
  Points points;
  Shape all = shape;
  all.insert(all.begin(), count);
  points.x = Tensor(all);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (float& value : points.x.data) value = uniform(random);
  for (std::int64_t i = 0; i < count; ++i) {
    points.index.push_back(i);
    points.target.push_back(0);
  }
  return points;
}

// The time per example at one batch size, and the time per kind of layer.
struct Measurement {
  std::int64_t batch = 0;
  double microseconds = 0;
  std::vector<KindTime> kinds;
};

// The measurements of several batch sizes.
struct Measurements {
  std::vector<Measurement> all;
  Measurement best;
  std::string device;

  double least_seconds() const { return all.empty() ? 0 : 1e-6 * best.microseconds; }  // per example

  void add(const Measurement& measured) {
    all.push_back(measured);
    if (all.size() == 1 || measured.microseconds < best.microseconds) best = measured;
  }
};

// Measures those batch sizes for which memory and time suffice, each with a new executor. A batch size of 0 lets the executor
// choose.
Measurements measure(const std::function<LoadedModel(std::int64_t)>& make, std::initializer_list<std::int64_t> batches,
                     const std::function<Measurement(Executor&)>& measure_one) {
  Measurements result;
  const Stopwatch watch;
  for (const std::int64_t batch : batches) {
    if (!result.all.empty() && watch.seconds() > kSecondsOfAll) break;
    if (static_cast<double>(batch) * result.least_seconds() > kSlowestCall) break;
    const bool measured =
        std::any_of(result.all.begin(), result.all.end(), [&](const Measurement& m) { return m.batch == batch; });
    if (measured) continue;
    try {
      LoadedModel model = make(batch);
      result.add(measure_one(model.executor()));
      result.device = model.executor().name();
    } catch (const Error& error) {
      if (error.code != ErrorCode::resources || batch == 0) throw;
    }
  }
  return result;
}

// Measures one model.
class Bench {
 public:
  explicit Bench(const Arguments& arguments)
      : arguments_(arguments),
        model_(import_model(arguments, load_options(arguments))),
        shape_(point_shape_of(model_)),
        threads_(thread_count(arguments.device)) {}

  // The first run of each executor compiles the model, and also measures the time per kind of layer.
  Measurements forward() const {
    return measure([this](std::int64_t batch) { return make(batch); }, {0, 4, 12, 48, 96, 192, 384, 768, 1536},
                   [&](Executor& executor) {
                     const std::int64_t lanes = executor.forward_batch().examples, samples = lanes * threads_;
                     const auto kinds = executor.profile(random_points(shape_, lanes), false).value();
                     const Points one = random_points(shape_, 1);
                     const double seconds = seconds_per_call([&] { (void)executor.sample(one, noise_, samples).value(); });
                     return Measurement{lanes, 1e6 * seconds / static_cast<double>(samples), kinds};
                   });
  }

  Measurements jacobian() const {
    return measure([this](std::int64_t batch) { return make(batch); }, {0, 1, 3, 8, 16, 32, 64, 128},
                   [&](Executor& executor) {
                     auto kinds = executor.profile(random_points(shape_, 1), true).value();  // also chooses the batch size
                     const std::int64_t examples = executor.gradient_batch().examples, count = examples * threads_;
                     if (examples > 1) kinds = executor.profile(random_points(shape_, examples), true).value();
                     const Points points = random_points(shape_, count);
                     const double seconds = seconds_per_call([&] { (void)executor.linearize(points, *noise_.shape).value(); });
                     return Measurement{examples, 1e6 * seconds / static_cast<double>(count), kinds};
                   });
  }

  const Model& model() const { return model_; }
  int threads() const { return threads_; }

 private:
  LoadedModel make(std::int64_t batch) const { return compile_model(model_, load_options(arguments_, shape_, batch)); }

  const Arguments& arguments_;
  Model model_;
  Shape shape_;
  int threads_;
  Noise noise_{isotropic_gaussian(), 0.1};
};

// ---- output

Document batches_json(const Measurements& measurements) {
  Document list = Document::List{};
  for (const Measurement& one : measurements.all)
    list.push_back(Document::Object{{"batch", one.batch}, {"us", one.microseconds}});
  return list;
}

Document kinds_json(const std::vector<KindTime>& kinds) {
  Document list = Document::List{};
  for (const KindTime& kind : kinds)
    list.push_back(Document::Object{{"kind", kind.kind},
                                    {"steps", kind.steps},
                                    {"us", 1e6 * kind.seconds},
                                    {"gflops", kind.seconds > 0 ? 1e-9 * kind.flops / kind.seconds : 0}});
  return list;
}

void print_kinds(const char* of, const std::vector<KindTime>& kinds, double gemm) {
  double total = 0;
  for (const KindTime& kind : kinds) total += kind.seconds;
  if (total == 0) return;
  fmt::print("\n  {:<28} {:>6} {:>12} {:>7} {:>9} {:>8}\n", of, "steps", "us a batch", "time", "GFLOP/s", "of GEMM");
  double rest = 0;
  for (const KindTime& kind : kinds) {
    if (kind.seconds < kKindsShown * total) {
      rest += kind.seconds;
      continue;
    }
    const double rate = 1e-9 * kind.flops / kind.seconds;
    fmt::print("  {:<28} {:>6} {:>12.0f} {:>6.1f}% {:>9.1f} {:>7.0f}%\n", kind.kind, kind.steps, 1e6 * kind.seconds,
               100 * kind.seconds / total, rate, 100 * rate / gemm);
  }
  if (rest > 0) fmt::print("  {:<28} {:>6} {:>12.0f} {:>6.1f}%\n", "others", "", 1e6 * rest, 100 * rest / total);
}

int run_bench(const BenchArguments& arguments) {
  if (arguments.frontier) return run_frontier(arguments);
  const Bench bench(arguments);
  const Measurements forward = bench.forward(), jacobian = bench.jacobian();
  const double forward_us = forward.best.microseconds, jacobian_us = jacobian.best.microseconds;
  const double forward_gflops = 1e-3 * flops(bench.model().graph) / forward_us;
  const std::optional<DeviceRates> rates = device_rates(arguments.device.device, parse_precision(arguments.device.precision));
  const double gemm = rates ? 1e-9 * rates->product : gemm_gflops();
  if (arguments.json) {
    Document json = Document::object();
    json["model"] = arguments.model;
    json["device"] = forward.device;
    json["threads"] = bench.threads();
    json["batch"] = forward.best.batch;
    json["forward_us"] = forward_us;
    json["jacobian_batch"] = jacobian.best.batch;
    json["jacobian_us"] = jacobian_us;
    json["jacobian_forwards"] = jacobian_us / forward_us;
    json["forward_gflops"] = forward_gflops;
    json["gemm_gflops"] = gemm;
    if (rates) json["copy_gbytes"] = 1e-9 * rates->copy;
    json["forward_batches"] = batches_json(forward);
    json["jacobian_batches"] = batches_json(jacobian);
    json["forward_kinds"] = kinds_json(forward.best.kinds);
    json["jacobian_kinds"] = kinds_json(jacobian.best.kinds);
    fmt::print("{}\n", datasets::json_text(json));
    return 0;
  }
  const std::string product = rates ? "the library's product of 8192 x 8192 matrices on " + rates->device
                                    : std::string("Eigen's product of 768 x 768 matrices");
  fmt::print("{}, {} thread{}\n", arguments.model, bench.threads(), bench.threads() == 1 ? "" : "s");
  fmt::print("  forward          {:10.2f} us per example, batches of {}\n", forward_us, forward.best.batch);
  fmt::print("                   {:10.0f} GFLOP/s, {:.0f}% of the {:.0f} that {} reaches{}\n", forward_gflops,
             100 * forward_gflops / gemm, gemm, product, rates ? "" : " on one thread");
  if (rates) {
    fmt::print("                   values move at {:.0f}% of the {:.0f} GB/s of a memory copy\n",
               100e6 * memory_traffic(bench.model().graph) / forward_us / rates->copy, 1e-9 * rates->copy);
  }
  fmt::print("  margin Jacobian  {:10.2f} us per example, batches of {} ({:.1f} forward passes)\n", jacobian_us,
             jacobian.best.batch, jacobian_us / forward_us);
  print_kinds("forward pass, one thread", forward.best.kinds, gemm);
  print_kinds("margin Jacobian, one thread", jacobian.best.kinds, gemm);
  return 0;
}

}  // namespace

void describe_bench(CommandLine& line) {
  auto [command, own] =
      line.add<BenchArguments>("bench", "time per forward pass and per margin Jacobian, by kind of step", run_bench);
  add_model(command, own);
  add_device_options(command, own);
  command.add_flag("--json", own.json, "print one JSON object; with --frontier, one per estimator");
  command.add_flag("--frontier", own.frontier,
                   "compare errors at equal cost and coverage, for MODEL DATA --sigma ... or a file with such lines");
  command.add_option("DATA", own.data.path, "for --frontier: " + known_formats());
  add_data_options(command, own);
  command.add_option("--sigma", own.question.sigma, "for --frontier: noise scales in the data's units").one_argument_each();
  command.add_option("--noise", own.question.noise, "for --frontier: noise models, such as rotate:10").one_argument_each();
  command.add_option("--estimator", own.question.estimators, "for --frontier: estimators to compare instead of the default list")
      .separated_by_commas()
      .one_argument_each();
  command.add_option("--references", own.references, "for --frontier: file to store reference probabilities in");
  command.add_option("--reference", own.reference, "for --frontier: estimator of the reference probabilities").show_default();
  command.add_option("--seeds", own.seeds, "for --frontier: number of repetitions, each with its own noise").at_least(1);
  command.add_option("--seed", own.question.seed, "for --frontier: random seed for the first repetition").show_default();
  command.add_flag("--quiet", own.quiet, "do not print progress on stderr");
}

}  // namespace probust::cli
