// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "datasets/bytes.h"

namespace probust::datasets {

/// Files in a model's folder, memory-mapped on request and released with this object.
class SiblingFiles {
 public:
  explicit SiblingFiles(const std::string& model);

  /// The bytes of the file at `location`, which must lie inside the model's folder. Throws Error{unreadable}.
  std::span<const std::byte> operator()(const std::string& location);

  /// The paths of the files that were read.
  std::vector<std::string> paths() const;

 private:
  std::filesystem::path folder_;
  std::map<std::string, Buffer> files_;
};

}  // namespace probust::datasets
