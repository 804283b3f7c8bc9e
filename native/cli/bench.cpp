// SPDX-License-Identifier: MIT
// probust bench: what a forward and a full margin Jacobian cost, measured through the calls that `estimate` makes: a forward is
// a noisy copy of mc:N with its noise and its count, a Jacobian a linearization of taylor with its Gram matrix.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/load.h"
#include "probust/ops/op.h"
#include "probust/ops/traffic.h"

namespace probust::cli {
namespace {

constexpr double kSeconds = 0.25;  // per measurement
constexpr int kRepeats = 5;

// Seconds of one call: the median over several measurements, each as many calls as fill kSeconds / kRepeats.
double seconds_per_call(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  call();
  std::vector<double> times;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const auto start = Clock::now();
    int calls = 0;
    double elapsed = 0;
    do {
      call();
      ++calls;
      elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    } while (elapsed < kSeconds / kRepeats);
    times.push_back(elapsed / calls);
  }
  std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
  return times[kRepeats / 2];
}

// What Eigen's own product of square matrices reaches on one thread: the yardstick for the forward.
double gemm_gflops() {
  constexpr int kSize = 768;
  const Eigen::MatrixXf a = Eigen::MatrixXf::Random(kSize, kSize), b = Eigen::MatrixXf::Random(kSize, kSize);
  Eigen::MatrixXf product(kSize, kSize);
  return 2e-9 * std::pow(kSize, 3) / seconds_per_call([&] { product.noalias() = a * b; });
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

struct Measurement {
  double microseconds = 0;
  std::int64_t batch = 0;
  void keep_better(double us, std::int64_t at) {
    if (batch != 0 && us >= microseconds) return;
    microseconds = us;
    batch = at;
  }
};

// Candidates that do not fit the memory are passed over.
std::unique_ptr<Executor> try_executor(const Model& model, const Shape& shape, const Arguments& arguments, std::int64_t batch) {
  try {
    return load_executor(model, shape, arguments, batch);
  } catch (const Error& error) {
    if (error.code == ErrorCode::resources && batch > 1) return nullptr;
    throw;
  }
}

}  // namespace

int run_bench(const Arguments& arguments) {
  if (arguments.frontier) return run_frontier(arguments);
  const Model model = load_model(arguments, true);
  Shape shape = model.input_shape;
  if (shape.size() > 1) shape.erase(shape.begin());
  const int threads = thread_count(arguments.device);
  const Noise noise{isotropic_gaussian(), 0.1};
  Measurement forward, jacobian;
  std::string device;
  for (const std::int64_t batch : {0, 48, 96, 192, 384, 768, 1536}) {
    const auto executor = try_executor(model, shape, arguments, batch);
    if (!executor) continue;
    device = executor->name();
    const std::int64_t lanes = executor->forward_batch().examples, samples = lanes * threads;
    const Points one = random_points(shape, 1);
    forward.keep_better(
        1e6 * seconds_per_call([&] { (void)executor->sample(one, noise, samples).value(); }) / static_cast<double>(samples),
        lanes);
  }
  for (const std::int64_t batch : {0, 4, 8, 16, 32, 64, 128}) {
    const auto executor = try_executor(model, shape, arguments, batch);
    if (!executor) continue;
    (void)executor->linearize(random_points(shape, 1), *noise.shape).value();
    const std::int64_t examples = executor->gradient_batch().examples, count = examples * threads;
    const Points points = random_points(shape, count);
    jacobian.keep_better(
        1e6 * seconds_per_call([&] { (void)executor->linearize(points, *noise.shape).value(); }) / static_cast<double>(count),
        examples);
  }
  const double forward_gflops = 1e-3 * flops(model.graph) / forward.microseconds;
  nlohmann::ordered_json json;
  json["model"] = arguments.model;
  json["device"] = device;
  json["threads"] = threads;
  json["batch"] = forward.batch;
  json["forward_us"] = forward.microseconds;
  json["jacobian_batch"] = jacobian.batch;
  json["jacobian_us"] = jacobian.microseconds;
  json["jacobian_forwards"] = jacobian.microseconds / forward.microseconds;
  json["forward_gflops"] = forward_gflops;
  const std::optional<DeviceRates> rates = device_rates(arguments);
  const std::string product = rates ? "cuBLAS's product of 8192 x 8192 matrices on " + rates->device
                                    : std::string("Eigen's product of 768 x 768 matrices");
  json["gemm_gflops"] = rates ? 1e-9 * rates->product : gemm_gflops();
  const double copied = rates ? 1e6 * traffic(model.graph) / forward.microseconds / rates->copy : 0;
  if (rates) json["copy_gbytes"] = 1e-9 * rates->copy;
  if (arguments.json) {
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{}, {} thread{}\n", arguments.model, threads, threads == 1 ? "" : "s");
    fmt::print("  forward          {:10.2f} us per example, batches of {}\n", forward.microseconds, forward.batch);
    const auto best = json["gemm_gflops"].get<double>();
    fmt::print("                   {:10.0f} GFLOP/s, {:.0f}% of the {:.0f} that {} reaches{}\n", forward_gflops,
               100 * forward_gflops / best, best, product, rates ? "" : " on one thread");
    if (rates) {
      fmt::print("                   its values are moved at {:.0f}% of the {:.0f} GB/s that a copy reaches\n", 100 * copied,
                 1e-9 * rates->copy);
    }
    fmt::print("  margin Jacobian  {:10.2f} us per example, batches of {} ({:.1f} forwards)\n", jacobian.microseconds,
               jacobian.batch, jacobian.microseconds / forward.microseconds);
  }
  return 0;
}

}  // namespace probust::cli
