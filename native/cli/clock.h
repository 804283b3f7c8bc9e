// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>

namespace probust::cli {

/// Runs from when it is made.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

/// What time it is, as "2026-11-23 08:00:00 UTC".
std::string utc_text();

}  // namespace probust::cli
