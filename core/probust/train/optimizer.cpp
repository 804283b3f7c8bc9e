// SPDX-License-Identifier: MIT
#include "probust/train/optimizer.h"

#include <cmath>
#include <numbers>

#include "probust/base/error.h"

namespace probust {
namespace {

constexpr double kFirst = 0.9, kSecond = 0.999, kEpsilon = 1e-8;  // Adam's constants, as its authors recommend

void move_adam(const StepSize& step, const std::vector<Tensor>& gradients, OptimizerMoments& moments,
               std::vector<Parameter>& weights) {
  moments.first_power *= kFirst;
  moments.second_power *= kSecond;
  const double scale1 = 1 / (1 - moments.first_power), scale2 = 1 / (1 - moments.second_power);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    std::vector<float>& values = weights[k].value.data;
    const double decay = weights[k].decays ? step.decay : 0.0;
    for (std::size_t e = 0; e < values.size(); ++e) {
      const double slope = gradients[k].data[e];
      double &m = moments.first[k][e], &v = moments.second[k][e];
      m += (1 - kFirst) * (slope - m);
      v += (1 - kSecond) * (slope * slope - v);
      const double direction = m * scale1 / (std::sqrt(v * scale2) + kEpsilon);
      values[e] -= static_cast<float>(step.rate * (direction + decay * values[e]));
    }
  }
}

void move_sgd(const StepSize& step, const std::vector<Tensor>& gradients, OptimizerMoments& moments,
              std::vector<Parameter>& weights) {
  for (std::size_t k = 0; k < weights.size(); ++k) {
    std::vector<float>& values = weights[k].value.data;
    const double decay = weights[k].decays ? step.decay : 0.0;
    for (std::size_t e = 0; e < values.size(); ++e) {
      double& velocity = moments.first[k][e];
      velocity = step.momentum * velocity + gradients[k].data[e];
      values[e] -= static_cast<float>(step.rate * (velocity + decay * values[e]));
    }
  }
}

}  // namespace

Optimizer parse_optimizer(const std::string& text) {
  if (text == "adam") return Optimizer::adam;
  if (text == "sgd") return Optimizer::sgd;
  throw Error{ErrorCode::usage, "optimizer", "cannot be '" + text + "'", "use adam or sgd"};
}

OptimizerMoments no_moments(Optimizer optimizer, const std::vector<Parameter>& weights) {
  OptimizerMoments moments;
  for (const Parameter& weight : weights) {
    moments.first.emplace_back(weight.value.data.size(), 0.0);
    if (optimizer == Optimizer::adam) moments.second.emplace_back(weight.value.data.size(), 0.0);
  }
  return moments;
}

void move(Optimizer optimizer, const StepSize& step, const std::vector<Tensor>& gradients, OptimizerMoments& moments,
          std::vector<Parameter>& weights) {
  (optimizer == Optimizer::adam ? move_adam : move_sgd)(step, gradients, moments, weights);
}

Schedule parse_schedule(const std::string& text) {
  if (text == "constant") return Schedule::constant;
  if (text == "cosine") return Schedule::cosine;
  throw Error{ErrorCode::usage, "schedule", "cannot be '" + text + "'", "use constant or cosine"};
}

double schedule_factor(Schedule schedule, std::int64_t step, std::int64_t steps) {
  if (schedule == Schedule::constant || steps < 1) return 1;
  return (1 + std::cos(std::numbers::pi * static_cast<double>(step) / static_cast<double>(steps))) / 2;
}

}  // namespace probust
