// SPDX-License-Identifier: MIT
#include "probust/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace probust {

namespace {

#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
constexpr bool kThreads = false;  // a page without shared memory has only one thread
#else
constexpr bool kThreads = true;
#endif

// Idle threads are kept, because starting one takes longer than many loops, and WebAssembly releases its threads only when the
// page's event loop runs. The caller works too, and waits only for threads that have started, so nested loops always end.
class ThreadPool {
 public:
  /// Calls work(0) here, and work(1) to work(helpers) on as many threads as become free in the meantime. `work` must not throw.
  void run(int helpers, const std::function<void(int)>& work) {
    Job job(work, helpers);
    {
      const std::lock_guard lock(mutex_);
      grow(static_cast<std::size_t>(helpers));
      jobs_.push_back(&job);
    }
    wake_.notify_all();
    work(0);
    std::unique_lock lock(mutex_);
    std::erase(jobs_, &job);
    job.ended.wait(lock, [&] { return job.running == 0; });
  }

 private:
  struct Job {
    Job(const std::function<void(int)>& work_, int helpers_) : work(work_), helpers(helpers_) {}

    const std::function<void(int)>& work;
    int helpers;
    int started = 0, running = 0;
    std::condition_variable ended;
  };

  void grow(std::size_t threads) {
    try {
      while (threads_.size() < threads) threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      // No more threads can be started: the existing ones do the work.
    }
  }

  [[noreturn]] void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !jobs_.empty(); });
      Job& job = *jobs_.front();
      const int worker = ++job.started;
      if (job.started == job.helpers) jobs_.pop_front();
      ++job.running;
      lock.unlock();
      job.work(worker);
      lock.lock();
      if (--job.running == 0) job.ended.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job*> jobs_;  ///< jobs that can use more helpers
  std::vector<std::thread> threads_;
};

// Never destroyed: its threads end with the program, and destructors of other objects may still run loops.
ThreadPool& pool() {
  static ThreadPool& pool = *new ThreadPool;
  return pool;
}

}  // namespace

void parallel_for(std::int64_t tasks, int threads, const std::function<void(std::int64_t, int)>& body) {
  const int workers = kThreads ? static_cast<int>(std::min<std::int64_t>(threads, tasks)) : 1;
  if (workers <= 1) {
    for (std::int64_t task = 0; task < tasks; ++task) body(task, 0);
    return;
  }
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  pool().run(workers - 1, [&](int worker) {
    try {
      for (std::int64_t task = next++; task < tasks; task = next++) body(task, worker);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      next = tasks;
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace probust
