// SPDX-License-Identifier: MIT
#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

#include "cli/commands.h"

namespace probust::cli {
namespace {

std::atomic<Progress*> watched{nullptr};

void on_signal(int) {
  Progress* progress = watched.load();
  if (progress != nullptr && !progress->stop.exchange(true)) return;
  constexpr std::string_view kMessage = "probust: interrupted\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage.data(), kMessage.size());
  _exit(kInterrupted);
}

}  // namespace

void end_on_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

StopOnSignal::StopOnSignal(Progress& progress) { watched = &progress; }

StopOnSignal::~StopOnSignal() { watched = nullptr; }

}  // namespace probust::cli
