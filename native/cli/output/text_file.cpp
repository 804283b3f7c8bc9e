// SPDX-License-Identifier: MIT
#include "cli/output/text_file.h"

#include <cerrno>
#include <cstdio>

#include "datasets/unwritable.h"
#include "probust/base/error.h"

namespace probust::cli {

void require_ending(const std::string& option, const std::string& path, std::string_view ending) {
  if (path.ends_with(ending)) return;
  throw Error{ErrorCode::usage, option, "is '" + path + "', which does not end in " + std::string(ending),
              "try " + path + std::string(ending)};
}

void write_text_file(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw unwritable(path, errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written)
    throw Error{ErrorCode::resources, path, "could not be written", "check that the disk is not full"};
}

}  // namespace probust::cli
