// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "probust/estimators/estimator.h"

namespace probust::cli {

/// Reference probabilities by one estimator, with noise that the compared estimates do not use. Because they take more time than
/// all compared estimates, they are computed only once and stored in a file of JSON lines.
class References {
 public:
  /// Reads the file `path` if it exists. If `path` is empty, nothing is stored. Throws Error{unreadable} for an invalid line.
  References(std::string path, EstimatorSpec estimator);

  /// The p of every point of `evaluation`; missing values are computed and written to the file. The key of an entry consists of
  /// the names of the model and data files, the position in the data, the class, the noise and the estimator.
  std::vector<double> of(const Arguments& problem, Evaluation& evaluation, const Noise& noise);

 private:
  void remember(const std::string& key, double p);
  std::string path_;
  EstimatorSpec estimator_;
  std::map<std::string, double> known_;
};

}  // namespace probust::cli
