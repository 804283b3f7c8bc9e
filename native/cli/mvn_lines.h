// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace probust::cli {

/// One line of `probust mvn`: a JSON object {"z", "R" or "U", "id"} in, one with {"id", "p", "p_fail", "error", "error_fail",
/// "method", "status"} out, without a newline. Infinite limits are the strings "inf" and "-inf". Where the line is not a valid
/// problem the numbers are null and `status` says what is wrong. It never throws, whatever the bytes.
std::string answer_mvn_line(std::string_view line);

}  // namespace probust::cli
