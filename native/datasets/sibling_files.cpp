// SPDX-License-Identifier: MIT
#include "datasets/sibling_files.h"

#include <algorithm>

namespace probust::datasets {

SiblingFiles::SiblingFiles(const std::string& model) : folder_(std::filesystem::path(model).parent_path()) {}

std::span<const std::byte> SiblingFiles::operator()(const std::string& location) {
  auto found = files_.find(location);
  if (found == files_.end()) {
    const std::filesystem::path path(location);
    const bool leads_out = path.empty() || path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
    if (leads_out)
      throw Error{ErrorCode::unreadable, "weights file '" + location + "'", "lies outside the model's folder",
                  "save the model with its weights in its own folder"};
    const std::string hint = "put it next to the model, whose weights it has";
    found = files_.emplace(location, map_regular_file((folder_ / path).string(), hint, hint)).first;
  }
  return std::as_bytes(found->second.bytes);
}

std::vector<std::string> SiblingFiles::paths() const {
  std::vector<std::string> paths;
  for (const auto& [location, buffer] : files_) paths.push_back((folder_ / location).string());
  return paths;
}

}  // namespace probust::datasets
