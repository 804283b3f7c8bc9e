// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "probust/estimators/row.h"

namespace probust::store {

/// What determines the rows of a run, as names and values: {"estimator", "mc:100"}, {"seed", "0"}.
using Configuration = std::vector<std::pair<std::string, std::string>>;

/// "crc32 1a2b3c4d, 5120 bytes": tells a file from a changed one. Throws Error{unreadable}.
std::string file_checksum(const std::string& path);

/// A run in a SQLite file: its configuration, and the rows of the points that are done. What is appended at once is in the file
/// wholly or not at all, whenever the process is killed. All functions throw Error: unreadable (the file is not a run), resources
/// (it cannot be written), conflict (below).
class RunFile {
 public:
  /// Begins a run, or goes on with the run of the same configuration in the file. With `force_new`, a run that is there is
  /// replaced. Throws Error{conflict} if its configuration differs, naming the first difference, or if another process writes it.
  static RunFile open(const std::string& path, const Configuration& configuration, bool force_new);

  /// Opens a run to read it. Another process may be writing it.
  static RunFile read(const std::string& path);

  RunFile(RunFile&&) noexcept;
  RunFile& operator=(RunFile&&) noexcept;
  ~RunFile();

  /// The rows so far, of all points, and of the points at positions [first, first + count) of the data.
  std::int64_t rows() const;
  std::int64_t rows(std::int64_t first, std::int64_t count) const;

  /// Appends the rows of one or more points: for each, one row per noise and estimator, in order. Rows of these points that are
  /// there are replaced.
  void append(std::span<const Row> rows);

  /// Calls `use` for every row, by point and then in the order in which they were appended.
  void for_each(const std::function<void(const Row&)>& use) const;

  Configuration configuration() const;

 private:
  struct State;
  explicit RunFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace probust::store
