// SPDX-License-Identifier: MIT
#include "cli/interrupt.h"

#include <csignal>

namespace probust::cli {
namespace {

std::atomic<Progress*> watched{nullptr};

void on_signal(int) {
  if (Progress* progress = watched.load()) progress->stop = true;
}

}  // namespace

StopOnSignal::StopOnSignal(Progress& progress) {
  watched = &progress;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

StopOnSignal::~StopOnSignal() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  watched = nullptr;
}

}  // namespace probust::cli
