// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "probust/estimators/row.h"

namespace probust::cli {

/// Writes rows one at a time.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual void write(const Row& row) = 0;
};

/// A writer of "table", "csv" or "jsonl" to `file`, which it does not close. `class_names` (may be empty) are shown in tables. If
/// rows have probabilities per class, `classes` is their number. Throws Error{usage} for another format.
std::unique_ptr<RowWriter> make_row_writer(const std::string& format, std::FILE* file,
                                           const std::vector<std::string>& class_names, std::int64_t classes);

}  // namespace probust::cli
