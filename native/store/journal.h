// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "store/configuration.h"

namespace probust::store {

/// What is done of a text output that is not complete, in a file next to it, PATH-unfinished: the configuration, and after each
/// part how many points are done and how long the output then is. So an output that was cut can be continued, and one that is
/// complete, which has no such file, is replaced. All functions throw Error{resources} if the file cannot be written.
class Journal {
 public:
  /// Reads the journal of the output at `path`, or begins one with the first add(): if there is none, if nothing was done, or if
  /// the output is shorter than its journal says. Throws Error: conflict if the output is of another configuration and not
  /// `replace`; unreadable if the journal is damaged.
  Journal(const std::string& path, const Configuration& configuration, bool replace);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// The length in bytes of the output's part that is done, 0 if there is none.
  std::int64_t bytes() const { return bytes_; }

  /// The position in the data up to which the points of a model are done.
  std::int64_t done(const std::string& model) const;

  /// The points of `model` up to this position are in the first `bytes` bytes of the output.
  void add(const std::string& model, std::int64_t position, std::int64_t bytes);

  /// The output is complete.
  void finish();

 private:
  bool goes_on(const std::string& path, const Configuration& configuration);
  void read_done(const std::string& line);
  void open();
  void write(const std::string& text);

  std::string path_;
  std::string title_;  // with which the file begins; empty if it is continued
  std::FILE* file_ = nullptr;
  std::int64_t bytes_ = 0;
  std::map<std::string, std::int64_t> done_;
};

}  // namespace probust::store
