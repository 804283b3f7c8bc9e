// SPDX-License-Identifier: MIT
//
// random_calls SEED SECONDS: random sequences of public calls in three threads, each with its own models from the same bytes,
// while a fourth thread occasionally stops them. An Error is a valid result unless it is internal, and repeated calls must return
// equal rows. With sanitizers, this finds errors that depend on an order of calls that no test has.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "probust/analysis/geometry/boundary.h"
#include "probust/analysis/geometry/curvature.h"
#include "probust/analysis/geometry/slice.h"
#include "probust/model.h"
#include "probust/perturb/noise_text.h"
#include "probust/run/row.h"
#include "support/onnx_builder.h"

namespace {

using probust::LoadedModel;
using probust::Shape;
using probust::Tensor;
using Random = std::mt19937;

// A convolution, a dense layer, four classes.
std::string network() {
  Random random(3);
  std::normal_distribution<float> normal;
  const auto weights = [&](const Shape& shape) {
    Tensor tensor(shape);
    for (float& value : tensor.data) value = normal(random);
    return tensor;
  };
  probust::test::OnnxBuilder builder;
  builder.input("x", {-1, 1, 6, 6}).weight("w", weights({3, 1, 3, 3})).weight("v", weights({48, 4}));
  builder.node("Conv", {"x", "w"}, {"c"}).node("Relu", {"c"}, {"r"}).node("Flatten", {"r"}, {"f"});
  return builder.node("MatMul", {"f", "v"}, {"y"}).output("y", {-1, 4}).bytes();
}

const std::string& bytes() {
  static const std::string all = network();
  return all;
}

template <class T>
const T& one_of(Random& random, const std::vector<T>& choices) {
  return choices[random() % choices.size()];
}

std::vector<std::string> some_of(Random& random, const std::vector<std::string>& choices) {
  std::vector<std::string> chosen;
  for (std::size_t n = 1 + random() % 3; n > 0; --n) chosen.push_back(one_of(random, choices));
  return chosen;
}

const std::vector<std::string> kEstimators = {"auto",
                                              "auto:30",
                                              "mc:1",
                                              "mc:257",
                                              "mc:p>0.9",
                                              "mc:\xc2\xb1"
                                              "0.05",
                                              "mc:64:stratified",
                                              "taylor",
                                              "taylor_mvs",
                                              "mmse:3",
                                              "mmse:4:centered",
                                              "adf",
                                              "probit:9",
                                              "probit:24:shared",
                                              "regression:40:adf",
                                              "subset:200",
                                              "softmax",
                                              "nonsense"};
const std::vector<std::string> kNoises = {"gaussian:0.1", "gaussian:3",        "uniform:0.2",
                                          "laplace:0.05", "gaussian:0.1@0..3", "gaussian:0"};

class Caller {
 public:
  explicit Caller(unsigned seed) : random_(seed) { load(); }

  /// Stops the running call, from another thread.
  void stop() {
    const std::scoped_lock lock(mutex_);  // so that the model is not destroyed in the meantime
    model_->progress().stop = true;
  }

  void call() {
    ++calls;
    try {
      one();
    } catch (const probust::Error& error) {
      if (error.code != probust::ErrorCode::internal) return;
      std::fprintf(stderr, "%s\n", error.what());
      std::abort();
    }
  }

  std::int64_t calls = 0;

 private:
  void load() {
    probust::LoadOptions options;
    options.device = one_of<std::string>(random_, {"cpu", "cpu", "eigen", "reference"});
    options.execution.threads = 1 + static_cast<int>(random_() % 3);
    options.execution.memory =
        one_of<std::int64_t>(random_, {std::int64_t{1} << 20, std::int64_t{1} << 24, std::int64_t{1} << 30});
    options.execution.batch = one_of<std::int64_t>(random_, {0, 0, 1, 5});
    LoadedModel loaded = probust::load_model(std::as_bytes(std::span(bytes())), options);
    const std::scoped_lock lock(mutex_);
    model_.emplace(std::move(loaded));
  }

  Tensor points(std::int64_t count) {
    std::normal_distribution<float> normal;
    Tensor x({count, 1, 6, 6});
    for (float& value : x.data) value = normal(random_);
    if (random_() % 16 == 0) x.data[0] = std::numeric_limits<float>::quiet_NaN();
    return x;
  }

  void same_twice() {
    const Tensor x = points(1 + random_() % 5);
    const auto noises = some_of(random_, kNoises);
    const auto estimators = some_of(random_, kEstimators);
    const auto once = model_->estimate(x, noises, estimators), again = model_->estimate(x, noises, estimators);
    for (std::size_t i = 0; i < once.size(); ++i) {
      const double a = once[i].estimate.p, b = again[i].estimate.p;
      if (a == b || (a != a && b != b)) continue;
      std::fprintf(stderr, "%s: %.17g, then %.17g\n", once[i].estimator.c_str(), a, b);
      std::abort();
    }
  }

  void in_steps() {
    auto run = model_->start_estimate(points(1 + random_() % 40), some_of(random_, kNoises), some_of(random_, kEstimators));
    for (std::size_t steps = random_() % 12; steps > 0 && !run.step(static_cast<double>(random_() % 3)); --steps) {
    }
    (void)run.rows();  // the run is then abandoned
  }

  void analyse() {
    const Tensor x = points(1 + random_() % 3);
    const probust::Points all = probust::points_of(x, probust::predicted_classes(model_->logits(x)), 0, random_());
    switch (random_() % 4) {
      case 0:
        (void)probust::nearest_boundary(model_->executor(), all, 5);
        break;
      case 1:
        (void)probust::nearest_boundary_black_box(model_->executor(), all, {20, 2, 4, 10});
        break;
      case 2:
        (void)probust::curvature(model_->executor(), all, probust::parse_noise("gaussian:0.2"), 4);
        break;
      default:
        (void)probust::margin_plane(model_->executor(), all, 0, 1, 8);
    }
  }

  void one() {
    model_->progress().stop = false;
    switch (random_() % 8) {
      case 0:
        return load();
      case 1:
        return same_twice();
      case 2:
        return in_steps();
      case 3:
        return analyse();
      case 4:
        (void)model_->margins(points(1 + random_() % 9), {});
        return;
      case 5:
        (void)model_->logits(points(1 + random_() % 300));
        return;
      case 6:
        (void)probust::load_model(std::as_bytes(std::span(bytes()).first(random_() % bytes().size())));
        return;
      default:
        (void)model_->estimate(points(1 + random_() % 70), some_of(random_, kNoises), some_of(random_, kEstimators));
    }
  }

  Random random_;
  std::mutex mutex_;
  std::optional<LoadedModel> model_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return std::fprintf(stderr, "usage: random_calls SEED SECONDS\n"), 2;
  const unsigned seed = static_cast<unsigned>(std::atoi(arguments[1]));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(arguments[2]));
  const auto over = [&] { return std::chrono::steady_clock::now() >= end; };
  constexpr unsigned kCallers = 3;
  std::deque<Caller> callers;
  for (unsigned k = 0; k < kCallers; ++k) callers.emplace_back(seed * kCallers + k);
  std::vector<std::thread> threads;
  for (Caller& caller : callers) {
    threads.emplace_back([&] {
      while (!over()) caller.call();
    });
  }
  for (Random random(seed); !over(); std::this_thread::sleep_for(std::chrono::milliseconds(1 + random() % 50)))
    callers[random() % kCallers].stop();
  for (std::thread& thread : threads) thread.join();
  std::int64_t calls = 0;
  for (const Caller& caller : callers) calls += caller.calls;
  std::printf("%lld calls\n", static_cast<long long>(calls));
}
