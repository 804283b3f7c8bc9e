// SPDX-License-Identifier: MIT
// Details of training: single steps, orders and initial weights, compared with their definitions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "probust/train/models.h"
#include "probust/train/trainer.h"

namespace probust {
namespace {

const Tensor kPoints({4, 2}, {0.3F, 1, -1, 0.5F, 2, -0.7F, 0.1F, -1.5F});
const std::vector<std::int64_t> kLabels{0, 1, 0, 1};

Trainer plain(const std::vector<std::int64_t>& hidden, std::int64_t batch, Optimizer optimizer = Optimizer::sgd,
              const Tensor& x = kPoints, const std::vector<std::int64_t>& labels = kLabels) {
  TrainerOptions options;
  options.optimizer = optimizer;
  options.batch = batch;
  return {mlp({x.shape[1]}, hidden, 2), x, labels, options};
}

// A step with decay differs from one without by rate * decay * weights; for biases, there is no difference.
TEST(TrainerCorners, WeightsDecayAndBiasesDoNot) {
  Trainer with = plain({3}, 4), without = plain({3}, 4);
  TrainingOptions options;
  options.rate = 0.1;
  for (Trainer* each : {&with, &without}) each->epochs(20, options);
  const std::vector<Parameter> before = with.network().weights;
  (void)without.step(options);
  options.decay = 0.5;
  (void)with.step(options);
  for (std::size_t k = 0; k < before.size(); ++k) {
    for (std::size_t e = 0; e < before[k].value.data.size(); ++e) {
      const double decayed = k % 2 == 0 ? 0.1 * 0.5 * before[k].value.data[e] : 0;
      EXPECT_NE(before[k].value.data[e], 0);
      EXPECT_NEAR(with.network().weights[k].value.data[e], without.network().weights[k].value.data[e] - decayed, 1e-6)
          << k << ", " << e;
    }
  }
}

// Adam's first step, with bias correction, has the size of the rate, against the sign of the gradient.
TEST(TrainerCorners, AdamStartsWithStepsOfTheRate) {
  Trainer sgd = plain({}, 4), adam = plain({}, 4, Optimizer::adam);
  const std::vector<Parameter> before = adam.network().weights;
  TrainingOptions options;
  options.rate = 0.01;
  (void)sgd.step(options);
  (void)adam.step(options);
  for (std::size_t k = 0; k < before.size(); ++k) {
    for (std::size_t e = 0; e < before[k].value.data.size(); ++e) {
      const float down = sgd.network().weights[k].value.data[e] - before[k].value.data[e];
      if (std::fabs(down) < 1e-5F) continue;
      EXPECT_NEAR(adam.network().weights[k].value.data[e] - before[k].value.data[e], std::copysign(0.01F, down), 1e-5)
          << k << ", " << e;
    }
  }
}

// With weights that hardly move, the loss of a batch of 1 identifies its point. All six orders of three points must occur.
TEST(TrainerCorners, EveryOrderOfPointsOccurs) {
  Trainer trainer = plain({}, 1, Optimizer::sgd, Tensor({3, 1}, {1, 2, 3}), {0, 1, 0});
  TrainingOptions options;
  options.rate = 1e-9;
  std::set<std::vector<std::int64_t>> orders;
  for (int epoch = 0; epoch < 100; ++epoch) {
    std::vector<std::int64_t> order;
    for (int k = 0; k < 3; ++k) order.push_back(std::llround(1e4 * trainer.step(options)));
    EXPECT_EQ(std::set<std::int64_t>(order.begin(), order.end()).size(), 3U);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 6U);
}

// He initialization is used for rectifiers and GELU, and Glorot for tanh; biases are zero.
TEST(TrainerCorners, InitialWeightsHaveTheirDeviation) {
  for (const Activation activation : {Activation::relu, Activation::gelu, Activation::tanh}) {
    const Network network = mlp({400}, {100}, 50, activation, {.seed = 3});
    for (std::size_t k = 0; k < network.weights.size(); k += 2) {
      double squares = 0;
      for (const float w : network.weights[k].value.data) squares += double{w} * w;
      const double gain = activation == Activation::tanh ? 1 : 2;
      EXPECT_NEAR(squares / static_cast<double>(network.weights[k].value.size()) *
                      static_cast<double>(network.weights[k].value.shape[0]) / gain,
                  1, 0.08);
      for (const float bias : network.weights[k + 1].value.data) EXPECT_EQ(bias, 0);
    }
  }
}

}  // namespace
}  // namespace probust
