// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "store/configuration.h"

namespace probust::store {

/// Records the progress of an incomplete text output in a file next to it, PATH-unfinished, so that an interrupted output can
/// be continued. The file contains the configuration and, for each finished part, the number of finished points and the length
/// of the output. A complete output has no such file, and the next run replaces it. All functions throw Error{resources} if the
/// file cannot be written.
class Journal {
 public:
  /// Reads the journal of the output at `path`. The first add() creates a new journal if there is none, if no part has been
  /// finished, or if the output is shorter than recorded. Throws Error: conflict if the output has a different configuration
  /// and `replace` is false; unreadable if the journal is damaged.
  Journal(const std::string& path, const Configuration& configuration, bool replace);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// The length in bytes of the finished part of the output; 0 if there is none.
  std::int64_t bytes() const { return bytes_; }

  /// The position in the data up to which the points of a model are finished.
  std::int64_t done(const std::string& model) const;

  /// Records that the points of `model` up to this position are contained in the first `bytes` bytes of the output.
  void add(const std::string& model, std::int64_t position, std::int64_t bytes);

  /// Removes the journal of a complete output.
  void finish();

 private:
  bool goes_on(const std::string& path, const Configuration& configuration);
  void read_done(const std::string& line);
  void open();
  void write(const std::string& text);

  std::string path_;
  std::string title_;  // the first lines of a new journal; empty if an existing journal is continued
  std::FILE* file_ = nullptr;
  std::int64_t bytes_ = 0;
  std::map<std::string, std::int64_t> done_;
};

}  // namespace probust::store
