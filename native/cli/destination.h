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

/// Whether --output names a run, a .sqlite file.
bool names_run(const Arguments& arguments);

/// stdout, or the .csv or .jsonl file that --output names. `classes`: of rows with probabilities per class, else 0. Throws
/// Error{usage}.
std::unique_ptr<Destination> text_destination(const Arguments& arguments, const std::vector<std::string>& class_names,
                                              std::int64_t classes);

/// The run that --output names. If it is there, `configuration` has to be the same. `rows_a_point`: how many rows each point has.
/// Throws Error: usage, and what RunFile::open throws.
std::unique_ptr<Destination> run_destination(const Arguments& arguments, const store::Configuration& configuration,
                                             std::int64_t rows_a_point);

}  // namespace probust::cli
