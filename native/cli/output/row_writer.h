// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "probust/run/row.h"

namespace probust::cli {

/// Writes rows one at a time.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual void write(const Row& row) = 0;
};

/// The form in which rows are written as text.
struct TextForm {
  std::string format;                    ///< "table", "csv" or "jsonl"
  std::vector<std::string> class_names;  ///< used in tables; may be empty
  std::int64_t classes = 0;              ///< number of classes if rows have probabilities per class, otherwise 0
  bool several_models = false;           ///< whether rows contain the name of their model
};

/// Creates a writer for `file`, which it does not close. If `goes_on`, the file already has rows, so no header is written.
/// Throws Error{usage} for an unknown format.
std::unique_ptr<RowWriter> make_row_writer(const TextForm& form, std::FILE* file, bool goes_on);

}  // namespace probust::cli
