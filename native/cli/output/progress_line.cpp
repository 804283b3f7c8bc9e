// SPDX-License-Identifier: MIT
#include "cli/output/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/clock.h"
#include "cli/messages.h"

namespace probust::cli {
namespace {

constexpr int kBarWidth = 30;

std::string bar(double share) {
  const int filled = static_cast<int>(share * kBarWidth);
  std::string text;
  for (int i = 0; i < kBarWidth; ++i) text += i < filled ? "█" : "░";
  return text;
}

bool colour() { return std::getenv("NO_COLOR") == nullptr; }

}  // namespace

std::string duration_text(double seconds) {
  const std::int64_t whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

ProgressLine::ProgressLine(std::string title, const std::atomic<std::int64_t>& done, std::int64_t total, bool quiet,
                           PointCount points)
    : title_(std::move(title)),
      done_(done),
      start_(done),
      total_(std::max<std::int64_t>(1, total)),
      points_(points),
      terminal_(isatty(STDERR_FILENO) != 0) {
  if (!quiet) thread_ = std::thread([this] { watch(); });
}

ProgressLine::ProgressLine(std::string title, const std::atomic<std::int64_t>& done, std::int64_t total, bool quiet)
    : ProgressLine(std::move(title), done, total, quiet, PointCount()) {}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (terminal_) say("\r\033[K");
}

void ProgressLine::watch() {
  const Stopwatch watch;
  const auto interval = terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(3000);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval, [this] { return over_; })) {
    show(watch.seconds());
  }
}

void ProgressLine::show(double seconds) const {
  const double share = std::min(1.0, static_cast<double>(done_ - start_) / static_cast<double>(total_));
  std::string left = share > 0.01 ? duration_text(seconds / share - seconds) + " left" : "";
  if (points_.done != nullptr) left = fmt::format("{} of {} points, {}", points_.done->load(), points_.total, left);
  if (terminal_) {
    const std::string painted = colour() ? "\033[36m" + bar(share) + "\033[0m" : bar(share);
    say("\r{} {} {:3.0f}%  {}\033[K", title_, painted, 100 * share, left);
  } else {
    say("{}: {:.0f}%, {}\n", title_, 100 * share, left);
  }
  std::fflush(stderr);
}

}  // namespace probust::cli
