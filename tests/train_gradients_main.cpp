// SPDX-License-Identifier: MIT
// Writes the objective of small networks as JSON for train_gradients_test.py, with its gradients and everything that they
// depend on. With --time, measures training steps of the CNN.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <random>

#include "probust/train/deep_models.h"
#include "probust/train/trainer.h"

namespace probust {
namespace {

Tensor drawn(const Shape& shape, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Tensor tensor(shape);
  for (float& value : tensor.data) value = normal(random);
  return tensor;
}

void print_tensor(const std::string& name, const Tensor& tensor, bool last = false) {
  fmt::print("\"{}\": {{\"shape\": [{}], \"data\": [{}]}}{}\n", name, fmt::join(tensor.shape, ", "), fmt::join(tensor.data, ", "),
             last ? "" : ",");
}

// One line per network and lambda.
void print_problem(const Network& network, double lambda, std::int64_t rows) {
  std::mt19937 random(3);
  Shape shape = network.point;
  shape.insert(shape.begin(), rows);
  Batched batch{drawn(shape, random), Tensor({rows, network.classes})};
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < rows; ++row) {
    labels.push_back(row % network.classes);
    batch.wanted.row(row)[labels.back()] = 1;
  }
  std::vector<Tensor> gradients, observed;
  for (const Parameter& each : network.weights) gradients.emplace_back(each.value.shape);
  for (const Parameter& each : network.statistics) observed.emplace_back(each.value.shape);
  Objective objective(network, rows, lambda > 0 ? Loss::regularised : Loss::cross_entropy);
  const float loss = objective.run(batch, network.weights, lambda, gradients, observed);
  fmt::print("{{\"name\": \"{}\", \"lambda\": {}, \"loss\": {}, \"labels\": [{}],\n", network.name, lambda, loss,
             fmt::join(labels, ", "));
  print_tensor("x", batch.x);
  fmt::print("\"weights\": {{");
  for (std::size_t k = 0; k < gradients.size(); ++k)
    print_tensor(network.weights[k].name, network.weights[k].value, k + 1 == gradients.size());
  fmt::print("}}, \"gradients\": {{");
  for (std::size_t k = 0; k < gradients.size(); ++k)
    print_tensor(network.weights[k].name, gradients[k], k + 1 == gradients.size());
  fmt::print("}}}}");
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The median processor time of a step of the CNN with Adam, in milliseconds.
double step_milliseconds(std::int64_t rows, double lambda) {
  constexpr int kWarmUp = 5, kSteps = 40;
  std::mt19937 random(4);
  std::vector<std::int64_t> labels(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) labels[row] = row % 10;
  Trainer trainer(cnn({1, 28, 28}, 10), drawn({rows, 1, 28, 28}, random), labels, {.batch = rows});
  std::vector<double> seconds;
  for (int k = 0; k < kWarmUp + kSteps; ++k) {
    const double start = processor_seconds();
    trainer.step({.rate = 1e-3, .lambda = lambda});
    if (k >= kWarmUp) seconds.push_back(processor_seconds() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  return 1e3 * seconds[seconds.size() / 2];
}

void print_all() {
  fmt::print("[");
  const NetworkOptions options{.seed = 8};
  bool first = true;
  for (const double lambda : {0.0, 0.1}) {
    for (const Network& network : {cnn({1, 28, 28}, 10, Activation::relu, options), resnet18({3, 8, 8}, 4, options, 4),
                                   vit({1, 12, 12}, 5, options, {.patch = 4, .width = 8, .depth = 2, .heads = 2})}) {
      fmt::print("{}", first ? "" : ",\n");
      first = false;
      print_problem(network, lambda, 6);
    }
  }
  fmt::print("]\n");
}

}  // namespace
}  // namespace probust

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--time") == 0) {
    fmt::print("[{}, {}]\n", probust::step_milliseconds(64, 0), probust::step_milliseconds(64, 0.1));
  } else {
    probust::print_all();
  }
}
