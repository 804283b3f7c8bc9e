// SPDX-License-Identifier: MIT
#include "cli/clock.h"

namespace probust::cli {

std::string utc_text(const char* format, std::time_t when) {
  char text[64];
  return {text, std::strftime(text, sizeof text, format, std::gmtime(&when))};
}

}  // namespace probust::cli
