// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "probust/run/request.h"
#include "store/configuration.h"

namespace probust::cli {

/// What `estimate` computes for every point.
struct Plan {
  /// A noise model and an estimator, by their positions in the lists below.
  struct Question {
    std::size_t noise, estimator;
  };

  std::vector<Noise> noises;
  std::vector<EstimatorSpec> estimators;
  std::vector<std::string> noise_paths;  ///< the files from which noise models were read
  bool whole_blocks = false;  ///< whether estimates depend on the other points of their block, which must then not be split
  std::int64_t total = 0;  ///< forwards that `auto` distributes among points and noise models; 0: each point has its own budget

  /// All pairs of noise and estimator, ordered by noise and then by estimator, like rows.
  std::vector<Question> questions() const;

  bool shares(const EstimatorSpec& estimator) const { return WholeRunOptions{total}.shares(estimator); }

  /// The estimator's name in rows.
  std::string text(const EstimatorSpec& estimator) const { return WholeRunOptions{total}.text(estimator); }

  /// The number of passes for this many points, without those that `total` provides.
  std::int64_t passes(std::int64_t points, std::int64_t classes) const;
};

/// The plan that the options describe. Throws Error{usage}, and errors if files that noise models name cannot be read.
Plan parse_plan(const Arguments& arguments);

/// The models of a command: the first one, and those of --model.
std::vector<std::string> models_of(const Arguments& arguments);

/// The names of the models in rows: "" if there is only one model, otherwise the names of their files without folders, which
/// must differ. Throws Error{usage}.
std::vector<std::string> model_names(const Arguments& arguments);

/// The model files, and the files next to them that contain weights. Throws Error{unreadable}.
std::vector<std::string> files_of_models(const Arguments& arguments);

/// All settings that determine the rows; the device is not among them. Reads the model, the files next to it that contain
/// weights, and the data once, for their checksums.
store::Configuration configuration_of(const Arguments& arguments, const Plan& plan);

/// The numbers of --shard PART/PARTS; {1, 1} if the option is not given. `part` is counted from 1. parse_shard throws
/// Error{usage}.
struct Shard {
  std::int64_t part = 1, parts = 1;
};
Shard parse_shard(const Arguments& arguments);

/// Positions [first, last) of the data.
struct Span {
  std::int64_t first = 0, last = 0;
};

}  // namespace probust::cli
