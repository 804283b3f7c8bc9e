// SPDX-License-Identifier: MIT
#include "experiments/experiments.h"

#include <array>

namespace probust::cli::reproduce {

std::span<const Experiment> all_experiments() {
  static constexpr std::array kAll = {
      Experiment{"noise", "What noise looks like", kHan, noise},
      Experiment{"distribution", "The distribution of p over sigma", kHan, distribution},
      Experiment{"convergence", "How many samples the estimators need", kHan, convergence},
      Experiment{"error", "Errors of the estimators", kHan, error},
      Experiment{"time", "Times of the estimators", kHan, time},
      Experiment{"mvs", "The multivariate sigmoid", kHan, mvs},
      Experiment{"lambda", "Networks trained to be robust", kHan, lambda},
      Experiment{"bias", "Differences between classes", kHan, bias},
      Experiment{"gallery", "The most and the least robust images", kHan, gallery},
      Experiment{"discriminate", "Telling robust images from others", kHan, discriminate},
      Experiment{"natural", "Natural perturbations and counterfactuals", kScher, natural},
  };
  return kAll;
}

}  // namespace probust::cli::reproduce
