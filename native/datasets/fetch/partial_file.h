// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace probust {

/// A file that gets its name only when it is complete: data are written to "PATH.partial", which commit() renames. If `path` is
/// a device or pipe, data are written to it directly. If `path` is a symbolic link, its target is written and the link remains.
class PartialFile {
 public:
  /// Throws Error{resources} if the file cannot be created.
  explicit PartialFile(const std::string& path);
  /// Removes the partial file unless commit() has succeeded.
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  /// Throws Error{resources} if writing fails.
  void write(const void* from, std::size_t bytes);
  void commit();

  /// Makes all data written so far readable in the file written(), even before commit().
  void flush();
  const std::string& written() const { return written_; }

  const std::string& path() const { return path_; }  ///< as given

 private:
  std::string path_;
  std::string target_, written_;  // path_ with links resolved; the file that is written until commit()
  std::FILE* file_ = nullptr;
};

/// Writes a whole file. Throws the same errors as PartialFile.
void write_whole(const std::string& path, std::string_view bytes);

}  // namespace probust
