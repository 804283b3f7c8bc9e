// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "probust/estimators/estimator.h"

namespace probust::cli {

/// Probabilities that are as good as known, by mc:N with noise that no estimator under test sees. They cost more than everything
/// that is compared with them, so they are kept in a file of JSON lines and computed once.
class References {
 public:
  /// Reads what `path` holds, if it exists; an empty path keeps nothing. Throws Error{unreadable} for a line of another kind.
  References(std::string path, std::int64_t samples);

  /// p of every point of `evaluation`, computed where the file does not have it, and then written there. The positions in the
  /// data, the noise, and the files of model and data tell one from another.
  std::vector<double> of(const Arguments& problem, Evaluation& evaluation, const Noise& noise);

 private:
  void remember(const std::string& key, double p);
  std::string path_;
  std::int64_t samples_;
  std::map<std::string, double> known_;
};

}  // namespace probust::cli
