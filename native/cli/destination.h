// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "probust/estimators/row.h"
#include "store/run_file.h"

namespace probust::cli {

/// Where rows go.
class Destination {
 public:
  virtual ~Destination() = default;

  /// Whether the rows of the points [first, first + count) of the data are there from an earlier attempt.
  virtual bool has(std::int64_t first, std::int64_t count) const = 0;
  virtual void write(const Row& row) = 0;
  /// Makes what was written last: with a run, all of it at once. Throws Error{resources}.
  virtual void flush() = 0;
};

/// stdout or, by the ending of --output, a .csv, .jsonl or .sqlite file. With a run (.sqlite) that is there, `configuration` has
/// to be the same. `rows_a_point`: how many rows each point has; `classes`: of rows with probabilities per class, else 0. Throws
/// Error: usage, resources, conflict.
std::unique_ptr<Destination> make_destination(const Arguments& arguments, const store::Configuration& configuration,
                                              const std::vector<std::string>& class_names, std::int64_t rows_a_point,
                                              std::int64_t classes);

}  // namespace probust::cli
