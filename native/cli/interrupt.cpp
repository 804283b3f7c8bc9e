// SPDX-License-Identifier: MIT
#include "cli/interrupt.h"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "cli/commands.h"

namespace probust::cli {
namespace {

std::atomic<Progress*> watched{nullptr};

constexpr suseconds_t kPatience = 1'500'000;  // microseconds for a calculation to stop by itself

void end_now(int) {
  constexpr std::string_view kMessage = "\nprobust: interrupted; rows that were written stay\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage.data(), kMessage.size());
  _exit(kInterrupted);
}

void on_signal(int signal) {
  Progress* progress = watched.load();
  if (progress == nullptr || progress->stop.exchange(true)) end_now(signal);
  const itimerval once{{0, 0}, {kPatience / 1'000'000, kPatience % 1'000'000}};
  setitimer(ITIMER_REAL, &once, nullptr);
}

}  // namespace

void end_on_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = end_now;
  sigaction(SIGALRM, &action, nullptr);
}

StopOnSignal::StopOnSignal(Progress& progress) { watched = &progress; }

StopOnSignal::~StopOnSignal() { watched = nullptr; }

}  // namespace probust::cli
