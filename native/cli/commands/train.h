// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "cli/arguments.h"

namespace probust::cli {

/// The results of training: the mean cross-entropy, and the accuracies on the training points and on those of --test.
struct TrainingResult {
  double loss = 0, accuracy = 0;
  std::optional<double> test_accuracy{};
};

/// Trains with the command's options and writes the model. Resumes from a checkpoint if there is one. The result is empty if
/// training was interrupted. Throws Error.
std::optional<TrainingResult> train_model(const Arguments& arguments);

}  // namespace probust::cli
