// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace probust::cli {

/// Throws Error{usage} that names `option` unless the path ends in `ending`, such as ".html".
void require_ending(const std::string& option, const std::string& path, std::string_view ending);

/// Writes a whole file. Throws Error{resources} if it cannot be written.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace probust::cli
