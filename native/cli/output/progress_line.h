// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace probust::cli {

/// Shows the progress of a run on stderr: a bar on a terminal, otherwise a line every few seconds; nothing if `quiet`. The bar
/// is cleared when this object is destroyed.
class ProgressLine {
 public:
  /// The number of finished points and of all points, which are also shown.
  struct PointCount {
    const std::atomic<std::int64_t>* done = nullptr;
    std::int64_t total = 0;
  };

  /// The caller updates `done`, which counts up to `total`, and points.done.
  ProgressLine(std::string title, const std::atomic<std::int64_t>& done, std::int64_t total, bool quiet);
  ProgressLine(std::string title, const std::atomic<std::int64_t>& done, std::int64_t total, bool quiet, PointCount points);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  void watch();
  void show(double seconds) const;

  std::string title_;
  const std::atomic<std::int64_t>& done_;
  std::int64_t start_, total_;
  PointCount points_;
  bool terminal_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

/// A time such as "3 s", "2 min 05 s" or "1 h 12 min".
std::string duration_text(double seconds);

}  // namespace probust::cli
