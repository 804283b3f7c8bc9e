// SPDX-License-Identifier: MIT
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "probust/base/stop.h"
#include "python/interpreter.h"

namespace probust::python {

/// Runs work of the core on its own thread, without the interpreter's lock. Meanwhile, the Python thread that started the work
/// handles signals, reports progress, and calls the classifier's functions. Ctrl-C therefore interrupts these functions, and
/// their exceptions propagate in the Python thread.
class Worker {
 public:
  using Task = std::function<void()>;

  /// Runs `work` and waits for it. The caller must hold the interpreter's lock. Calls `report` about ten times a second. If a
  /// Python exception is raised during that time, sets `stop` and throws the exception when the work has ended. Otherwise
  /// throws the exception of `work`, if any. If one of the classifier's functions forks this process, run() throws immediately
  /// in the child, because the work would never end there.
  void run(StopToken& stop, const Task& work, const Task& report) {
    std::exception_ptr failed, raised;
    done_ = refused_ = abandoned_ = false;
    const int forks_before = forks();
    auto thread = std::make_unique<std::thread>([&] {
      try {
        work();
      } catch (...) {
        failed = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      done_ = true;
      changed_.notify_all();
    });
    begin(stop);
    auto reported = Clock::now();
    for (const Task* task = nullptr; wait(task);) {
      try {
        if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
        if (task != nullptr && !raised) call_python(*task);
        if (Clock::now() - reported >= kBetweenReports) report(), reported = Clock::now();
      } catch (...) {
        if (!raised) raised = std::current_exception();
        stop = true;
      }
      if (forks() != forks_before) {
        (void)thread.release();  // it does not exist in this process, so it can be neither joined nor detached
        if (raised) std::rethrow_exception(raised);
        throw forked();
      }
      answer(task, raised != nullptr);
    }
    thread->join();
    end();
    stop = false;
    if (raised) std::rethrow_exception(raised);
    if (failed) std::rethrow_exception(failed);
  }

  /// Runs `task` on the Python thread that waits in run(). Only one thread of the work at a time may call this. Throws
  /// Error{interrupted} if Python has raised an exception.
  void in_python(const Task& task) {
    std::unique_lock lock(mutex_);
    task_ = &task;
    changed_.notify_all();
    changed_.wait(lock, [this] { return task_ == nullptr; });
    if (refused_) throw interruption();
  }

  /// Stops the work of all workers, and waits for at most kLastWait until it has stopped, so that no work runs while the
  /// process ends. The caller must hold the interpreter's lock, and the interpreter must be about to end: the threads that
  /// started the work never return from their calls.
  static void end_all() {
    const Unlocked unlocked;
    All& all = of_process();
    std::unique_lock lock(all.mutex);
    for (Worker* worker : all.running) {
      worker->abandoned_ = true;
      *worker->stop_ = true;
    }
    all.changed.wait_for(lock, kLastWait, [&] { return all.running.empty(); });
  }

  /// Must be called in the child of a fork. The child has only one thread, so work that other threads had started will never
  /// end there.
  static void forget_all() {
    All& all = of_process();
    all.running.clear();
    ++all.forks;
  }

  /// The number of forks between this process and the first ancestor that used workers.
  static int forks() { return of_process().forks; }

  static Error forked() {
    return {ErrorCode::usage, "the model", "was in use when this process was forked", "load it again in the child"};
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPause{50}, kBetweenReports{100}, kLastWait{2000};

  struct All {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<Worker*> running;
    std::atomic<int> forks = 0;
  };

  // Never destroyed, because threads may outlive the interpreter.
  static All& of_process() {
    static All& all = *new All;
    return all;
  }

  void begin(StopToken& stop) {
    stop_ = &stop;
    const std::lock_guard lock(of_process().mutex);
    of_process().running.insert(this);
  }

  void end() {
    bool abandoned = false;
    {
      const std::lock_guard lock(of_process().mutex);
      of_process().running.erase(this);
      of_process().changed.notify_all();
      abandoned = abandoned_;
    }
    if (!abandoned) return;
    const Unlocked unlocked;
    wait_for_the_end();
  }

  // Waits for a task, up to a time limit. Returns whether the work is still running.
  bool wait(const Task*& task) {
    const Unlocked unlocked;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPause, [this] { return done_ || task_ != nullptr; });
    task = task_;
    return !done_;
  }

  void answer(const Task* task, bool refused) {
    const std::lock_guard lock(mutex_);
    refused_ = refused;
    if (task == nullptr) return;
    task_ = nullptr;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const Task* task_ = nullptr;
  bool done_ = false, refused_ = false;
  StopToken* stop_ = nullptr;
  bool abandoned_ = false;  // guarded by of_process().mutex
};

}  // namespace probust::python
