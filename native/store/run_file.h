// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "probust/analysis/results.h"
#include "store/configuration.h"

namespace probust::store {

/// A run in a SQLite file: its configuration, and the rows of the finished points. Each append is atomic, even if the process
/// is killed. Between two calls of append, the file is complete, and a copy of it has all rows so far, because SQLite's
/// rollback journal exists only during a transaction. (A write-ahead log would keep rows in a second file, and reading a run
/// would need write permission.) All functions throw Error: unreadable (the file is not a run), resources (it cannot be written),
/// conflict (as described below, or another process has kept the file locked for a minute).
class RunFile {
 public:
  enum class Mode {
    resume,  ///< create a run, or continue the run with the same configuration
    extend,  ///< as `resume`, but extensible entries of the configuration may differ, and are then replaced
    replace  ///< create a run; an existing run is removed first
  };

  /// Opens a run for writing, for as long as this object exists. Throws Error{conflict} if the configuration differs, naming
  /// the first difference, or if another process is writing the run.
  static RunFile open(const std::string& path, const Configuration& configuration, Mode mode);

  /// Like open(), but the file does not change before begin(), append() or set_information() is called, so that a command that
  /// fails earlier changes nothing.
  static RunFile claim(const std::string& path, const Configuration& configuration, Mode mode);
  void begin();

  /// Opens a run for reading. Another process may be writing it.
  static RunFile read(const std::string& path);

  RunFile(RunFile&&) noexcept;
  RunFile& operator=(RunFile&&) noexcept;
  ~RunFile();

  /// The points at positions [first, first + count) of the data, for one model (its name, or ""), noise model and estimator.
  struct Range {
    std::string model, noise, estimator;
    std::int64_t first = 0, count = 0;
  };

  /// The number of points of the range that have a row or were skipped.
  std::int64_t done(const Range& range) const;

  /// The number of rows so far.
  std::int64_t rows() const;

  /// Appends results and sets information in one transaction. Existing rows for the same model, point, noise and estimator are
  /// replaced, as are existing points.
  void append(const Results& results, const Configuration& information = {});

  /// Calls `use` for every row, ordered by model, then by point, then in the order in which noises and estimators were first
  /// appended. Another process can write during the call, however long `use` takes.
  void for_each(const std::function<void(const Row&)>& use) const;

  /// All results, in the order of for_each().
  Results results() const;

  Configuration configuration() const;

  /// Entries that do not determine the rows: {"command", "probust estimate ..."}, {"started", "2026-11-23 08:00:00"}.
  /// set_information replaces only the given entries.
  Configuration information() const;
  void set_information(const Configuration& entries);

 private:
  struct State;
  explicit RunFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace probust::store
