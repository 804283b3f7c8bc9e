// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <ctime>
#include <string>

namespace probust::cli {

/// A stopwatch that starts when it is created.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

/// A time (by default, now) in UTC, such as "2026-11-23 08:00:00 UTC". `format` is as for strftime.
std::string utc_text(const char* format = "%Y-%m-%d %H:%M:%S UTC", std::time_t when = std::time(nullptr));

}  // namespace probust::cli
