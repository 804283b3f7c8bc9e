// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "probust/run/request.h"
#include "store/configuration.h"

namespace probust::cli {

/// The questions that `estimate` answers for every point.
struct Plan {
  /// A noise model and an estimator, by their positions in the lists below.
  struct Question {
    std::size_t noise, estimator;
  };

  std::vector<Noise> noises;
  std::vector<EstimatorSpec> estimators;
  std::vector<std::string> noise_paths;  ///< the files that noise models were read from
  bool whole_blocks = false;  ///< whether estimates depend on the other points of their block, which must then not be split
  std::int64_t total = 0;     ///< forwards that `auto` shares among all points and noise models; 0: a budget per point

  /// Ordered by noise, then by estimator, like rows.
  std::vector<Question> questions() const;

  bool shares(const EstimatorSpec& estimator) const { return WholeRunOptions{total}.shares(estimator); }

  /// The estimator's name in rows.
  std::string text(const EstimatorSpec& estimator) const { return WholeRunOptions{total}.text(estimator); }

  /// The passes for this many points, without the share of `total`.
  std::int64_t passes(std::int64_t points, std::int64_t classes) const;
};

/// Throws Error{usage}, and the errors of reading the noise's files.
Plan parse_plan(const Arguments& arguments);

/// The models of a command: the first one, and those of --model.
std::vector<std::string> models_of(const Arguments& arguments);

/// The names of the models in rows: empty if there is only one, otherwise the files' names without folders, which must differ.
/// Throws Error{usage}.
std::vector<std::string> model_names(const Arguments& arguments);

/// The files of the models, with those next to them that contain weights. Throws Error{unreadable}.
std::vector<std::string> files_of_models(const Arguments& arguments);

/// All settings that determine the rows; the device is not one of them. Reads the model, the files next to it that contain
/// weights, and the data once for their checksums.
store::Configuration configuration_of(const Arguments& arguments, const Plan& plan);

/// Part i of n for --shard i/n, counted from 1; {1, 1} without the option. Throws Error{usage}.
struct Shard {
  std::int64_t part = 1, parts = 1;
};
Shard parse_shard(const Arguments& arguments);

/// Positions [first, last) of the data.
struct Span {
  std::int64_t first = 0, last = 0;
};

}  // namespace probust::cli
