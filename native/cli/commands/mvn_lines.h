// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace probust::cli {

/// The output for one line of input.
struct MvnAnswer {
  std::string line;       ///< without a newline
  bool answered = false;  ///< whether the output has a probability
};

/// Solves one line of `probust mvn`. Input is a JSON object {"z", "R" or "U", "id"}; output is {"id", "p", "p_fail", "error",
/// "error_fail", "method", "status"}. Infinite limits are the strings "inf" and "-inf". If the line is not a valid problem or
/// has an unknown key, the numbers are null and `status` gives the reason. Never throws, for any bytes.
MvnAnswer answer_mvn_line(std::string_view line);

}  // namespace probust::cli
