// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "cli/arguments.h"

namespace probust::cli {

/// How well a trained network does: mean cross-entropy, and the shares of training and of --test points that it gets right.
struct TrainingResult {
  double loss = 0, accuracy = 0;
  std::optional<double> test_accuracy{};
};

/// Trains as the command says and writes the model; goes on with a checkpoint if there is one. Nothing if it was interrupted.
/// Throws Error.
std::optional<TrainingResult> train_model(const Arguments& arguments);

}  // namespace probust::cli
