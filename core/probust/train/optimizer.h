// SPDX-License-Identifier: MIT
//
// Steps of gradient descent, and schedules of the learning rate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probust/train/network.h"

namespace probust {

enum class Optimizer : std::uint8_t {
  adam,  ///< Kingma and Ba, ICLR 2015
  sgd    ///< stochastic gradient descent, optionally with momentum
};

/// Reads "adam" or "sgd". Throws Error{usage} naming both.
Optimizer parse_optimizer(const std::string& text);

/// The state of an optimizer between steps, as a plain value.
struct OptimizerMoments {
  std::vector<std::vector<double>> first, second;  ///< moments of each weight's gradient; for sgd, `first` is the velocity
  double first_power = 1, second_power = 1;        ///< powers of beta1 and beta2, for Adam's bias correction
};

OptimizerMoments no_moments(Optimizer optimizer, const std::vector<Parameter>& weights);

/// The size of a step.
struct StepSize {
  double rate = 5e-3;   ///< learning rate
  double decay = 0;     ///< weight decay, decoupled (Loshchilov and Hutter, ICLR 2019); applied only if Parameter::decays
  double momentum = 0;  ///< momentum of sgd: the velocity becomes momentum * velocity + gradient
};

/// Moves the weights by one step; `gradients` are shaped like them.
void move(Optimizer optimizer, const StepSize& step, const std::vector<Tensor>& gradients, OptimizerMoments& moments,
          std::vector<Parameter>& weights);

enum class Schedule : std::uint8_t {
  constant,
  cosine  ///< from the given rate to 0 along half a cosine (Loshchilov and Hutter, ICLR 2017, equation 5)
};

/// Reads "constant" or "cosine". Throws Error{usage} naming both.
Schedule parse_schedule(const std::string& text);

/// The factor by which the learning rate is multiplied in step `step` of `steps`.
double schedule_factor(Schedule schedule, std::int64_t step, std::int64_t steps);

}  // namespace probust
