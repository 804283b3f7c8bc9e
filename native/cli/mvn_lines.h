// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace probust::cli {

/// Answers one line of `probust mvn`: a JSON object {"z", "R" or "U", "id"} in, {"id", "p", "p_fail", "error", "error_fail",
/// "method", "status"} out, without a newline. Infinite limits are the strings "inf" and "-inf". If the line is not a valid
/// problem, the numbers are null and `status` gives the reason. Never throws, whatever the bytes.
std::string answer_mvn_line(std::string_view line);

}  // namespace probust::cli
