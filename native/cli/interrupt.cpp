// SPDX-License-Identifier: MIT
#include "cli/interrupt.h"

#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <exception>
#include <string_view>

#include "cli/command_line.h"
#include "cli/messages.h"

namespace probust::cli {
namespace {

std::atomic<StopToken*> watched{nullptr};

constexpr suseconds_t kPatience = 1'500'000;  // microseconds that a calculation has to stop by itself

void end_now(int) {
  constexpr std::string_view kMessage = "\nprobust: interrupted; rows already written are kept\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage.data(), kMessage.size());
  _exit(kInterrupted);
}

void on_signal(int signal) {
  StopToken* stop = watched.load();
  if (stop == nullptr || stop->exchange(true)) end_now(signal);
  const itimerval once{{0, 0}, {kPatience / 1'000'000, kPatience % 1'000'000}};
  setitimer(ITIMER_REAL, &once, nullptr);
}

class StopOnSignal {
 public:
  explicit StopOnSignal(StopToken& stop) { watched = &stop; }
  ~StopOnSignal() { watched = nullptr; }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
};

}  // namespace

void end_on_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // a write to a full pipe continues
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // with nohup, it is ignored, and must remain so
  action.sa_handler = end_now;
  action.sa_flags = 0;
  sigaction(SIGALRM, &action, nullptr);
}

int run_interruptibly(StopToken& stop, const std::function<int()>& work, const std::function<std::string()>& outcome) {
  const StopOnSignal stop_on_signal(stop);
  int status = kInterrupted;
  try {
    status = work();
  } catch (const std::exception&) {
    if (!stop) throw;  // if `stop` is set, `work` failed because of the interruption
  }
  if (!stop) return status;
  say("probust: interrupted; {}\n", outcome());
  return kInterrupted;
}

}  // namespace probust::cli
