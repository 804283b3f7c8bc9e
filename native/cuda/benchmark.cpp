// SPDX-License-Identifier: MIT
// Measures the CUDA backend on the largest problem of Han et al.: ResNet-18 on 3 x 32 x 32 images (with random weights, which
// take as long as trained ones). For comparison, it also prints the highest rates that the device reaches in the same run:
// those of cuBLAS's product of large matrices and of copies of device memory. Lower precisions come first, because they take
// the least time. With --tiny, all sizes are minimal, to test that the program runs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "cuda/cuda_executor.h"
#include "cuda/measure_rates.h"
#include "probust/estimators/estimator.h"
#include "probust/ops/build.h"
#include "probust/ops/memory_traffic.h"
#include "probust/ops/op.h"
#include "probust/passes/simplify.h"

namespace {

using namespace probust;

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The time of the fastest of two repetitions, or of four if they are short. The first repetition plans the work, and the second
// may record it.
double best_seconds(const std::function<void()>& work) {
  constexpr double kShort = 2;
  double best = seconds(work);
  for (int left = best < kShort ? 3 : 1; left > 0; --left) best = std::min(best, seconds(work));
  return best;
}

// A ResNet-18 with random weights, which are scaled so that activations neither vanish nor explode.
class ResNet18 {
 public:
  ResNet18(std::int64_t width, std::int64_t extent, std::int64_t classes) {
    ValueId y = append_input(graph_, {3, extent, extent}, Extent::example, "x");
    y = relu(conv(build::reshape(graph_, y, {1, 3, extent, extent}), width, 3, 1));
    for (int stage = 0; stage < 4; ++stage) {
      for (int block = 0; block < 2; ++block) y = residual(y, width << stage, stage > 0 && block == 0 ? 2 : 1);
    }
    const Shape last = graph_[y].shape;
    y = build::reshape(graph_, build::reduce_sum(graph_, y, {2, 3}), {1, last[1]});
    y = build::multiply(graph_, y, build::constant(graph_, 1.0F / static_cast<float>(last[2] * last[3])));
    y = build::matmul(graph_, y, append_constant(graph_, weights({last[1], classes}, last[1])));
    graph_.outputs = {build::reshape(graph_, y, {classes})};
  }

  Graph graph() && { return std::move(graph_); }

 private:
  Tensor weights(const Shape& shape, std::int64_t inputs) {
    Tensor tensor(shape);
    std::normal_distribution<float> normal(0, std::sqrt(2.0F / static_cast<float>(inputs)));
    for (float& value : tensor.data) value = normal(random_);
    return tensor;
  }

  ValueId conv(ValueId x, std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
    const Shape from = graph_[x].shape;
    const std::int64_t pad = kernel / 2;
    const Window window{{from[2], from[3]}, {kernel, kernel}, {stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
    const ValueId filter = append_constant(graph_, weights({channels, from[1], kernel, kernel}, from[1] * kernel * kernel));
    const ValueId y = append(graph_, Op::conv, {x, filter}, window);
    return build::add(graph_, y, append_constant(graph_, weights({channels, 1, 1}, 100)));
  }

  ValueId relu(ValueId x) { return append(graph_, Op::relu, {x}); }

  ValueId residual(ValueId x, std::int64_t channels, std::int64_t stride) {
    const ValueId y = conv(relu(conv(x, channels, 3, stride)), channels, 3, 1);
    const ValueId skip = graph_[x].shape == graph_[y].shape ? x : conv(x, channels, 1, stride);
    return relu(build::add(graph_, y, skip));
  }

  Graph graph_;
  std::mt19937 random_{1};
};

Points random_points(std::int64_t count, const Shape& shape, Executor& executor) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> uniform(0, 1);
  Shape all = shape;
  all.insert(all.begin(), count);
  Points points{Tensor(all), {}, {}, 7};
  for (float& value : points.x.data) value = uniform(random);
  const Tensor logits = executor.logits(points.x).value();
  for (std::int64_t i = 0; i < count; ++i) {
    points.index.push_back(i);
    points.target.push_back(argmax(logits.row(i)));
  }
  return points;
}

double estimate_seconds(Executor& executor, const Points& points, const std::string& estimator) {
  const Tensor logits = executor.logits(points.x).value();
  return best_seconds([&] {
    Evaluation evaluation(executor, points, logits);
    (void)estimate(evaluation, {isotropic_gaussian(), 0.1}, parse_estimator(estimator)).value();
  });
}

struct Sizes {
  std::int64_t width = 64, extent = 32, points = 50, copies = 10000, many_classes = 100, many_points = 1000, product = 8192,
               bytes = std::int64_t{1} << 30;
};

void figures(const Sizes& sizes, cuda::Precision precision) {
  const DeviceRates rates = cuda::measure_rates(0, precision, sizes.product, sizes.bytes);
  fmt::print("{}, {}: product of {} x {} matrices {:.1f} TFLOP/s, copy {:.2f} TB/s (read and written)\n", rates.device,
             cuda::name_of(precision), sizes.product, sizes.product, rates.product * 1e-12, rates.copy * 1e-12);
  const ExecutorOptions options{static_cast<int>(std::max(1U, std::thread::hardware_concurrency())), std::int64_t{16} << 30, 0};
  cuda::CudaOptions cuda;
  cuda.precision = precision;
  cuda.warn = [](const std::string& text) { fmt::print("  {}\n", text); };
  for (const std::int64_t classes : {std::int64_t{10}, sizes.many_classes}) {
    const Graph graph = ResNet18(sizes.width, sizes.extent, classes).graph();
    const auto executor = cuda::make_cuda_executor(graph, options, cuda).value();
    const bool few = classes == 10;
    const Points points = random_points(few ? sizes.points : sizes.many_points, {3, sizes.extent, sizes.extent}, *executor);
    const double forward = flops(graph), bytes = memory_traffic(simplify(graph));
    const auto row = [&](const std::string& estimator, double forwards) {
      const double time = estimate_seconds(*executor, points, estimator);
      const double runs = forwards * static_cast<double>(points.size());
      fmt::print(
          "  ResNet-18, {} classes, {:>4} points, {:<10} {:9.1f} ms   {:5.1f}% of the product's rate, {:5.1f}% of the copy's\n",
          classes, points.size(), estimator, 1e3 * time, 100 * runs * forward / time / rates.product,
          100 * runs * bytes / time / rates.copy);
    };
    // Counts the backward pass of a seed as one forward pass, because its transposed convolutions have the same sizes.
    const auto seeds = static_cast<double>(classes - 1);
    if (few) row(fmt::format("mc:{}", sizes.copies), static_cast<double>(sizes.copies));
    if (few) row("mmse:5", 5 * (1 + seeds));
    row("taylor", 1 + seeds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // a time limit may end the program at any time
  CLI::App app("the speed of the CUDA backend on ResNet-18");
  std::vector<std::string> precisions{"bf16", "tf32", "float32"};
  bool tiny = false;
  app.add_option("--precision", precisions, "of products and convolutions (default: bf16,tf32,float32)")
      ->delimiter(',')
      ->check(CLI::IsMember({"bf16", "tf32", "float32"}));
  app.add_flag("--tiny", tiny, "minimal sizes, to test that it runs");
  CLI11_PARSE(app, argc, argv);
  try {
    const Sizes sizes = tiny ? Sizes{2, 8, 2, 20, 12, 2, 32, 1 << 12} : Sizes{};
    for (const std::string& name : precisions) {
      for (const cuda::Precision precision : {cuda::Precision::float32, cuda::Precision::tf32, cuda::Precision::bf16}) {
        if (name == cuda::name_of(precision)) figures(sizes, precision);
      }
    }
  } catch (const Error& error) {
    fmt::print(stderr, "probust-cuda-bench: {}\n", error.message());
    return static_cast<int>(error.code);
  }
  return 0;
}
