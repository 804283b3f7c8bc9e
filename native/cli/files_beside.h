// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace probust::cli {

/// Files beside a model, mapped into memory when they are asked for and let go with this.
class FilesBeside {
 public:
  explicit FilesBeside(const std::string& model);
  ~FilesBeside();
  FilesBeside(const FilesBeside&) = delete;
  FilesBeside& operator=(const FilesBeside&) = delete;

  /// The bytes of the file at `location`, which must not lead out of the model's folder. Throws Error{unreadable}.
  std::span<const std::byte> operator()(const std::string& location);

 private:
  std::filesystem::path folder_;
  std::map<std::string, std::span<const std::byte>> files_;
};

}  // namespace probust::cli
