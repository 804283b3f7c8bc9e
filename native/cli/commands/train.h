// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "cli/arguments.h"

namespace probust::cli {

/// The results of a training: mean cross-entropy, and the accuracies on training and --test points.
struct TrainingResult {
  double loss = 0, accuracy = 0;
  std::optional<double> test_accuracy{};
};

/// Trains with the command's options and writes the model. Resumes from a checkpoint if there is one. Empty if it was
/// interrupted. Throws Error.
std::optional<TrainingResult> train_model(const Arguments& arguments);

}  // namespace probust::cli
