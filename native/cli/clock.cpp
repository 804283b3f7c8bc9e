// SPDX-License-Identifier: MIT
#include "cli/clock.h"

#include <fmt/chrono.h>

#include <ctime>

namespace probust::cli {

std::string utc_text() { return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr))); }

}  // namespace probust::cli
