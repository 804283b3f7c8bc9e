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
constexpr bool kThreads = false;  // a page without shared memory has one
#else
constexpr bool kThreads = true;
#endif

// Threads that stay: to start one takes longer than many a loop does, and WebAssembly's are not given back before their page's
// turn ends. Whoever calls works too and waits for nobody who has not begun, so that loops within loops come to their end.
class Crew {
 public:
  Crew() = default;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    called_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  /// Calls work(0) here, and work(1) to work(helpers) on as many threads as are free meanwhile. `work` may not throw.
  void run(int helpers, const std::function<void(int)>& work) {
    Job job(work, helpers);
    {
      const std::lock_guard lock(mutex_);
      grow(static_cast<std::size_t>(helpers));
      jobs_.push_back(&job);
    }
    called_.notify_all();
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
    int begun = 0, running = 0;
    std::condition_variable ended;
  };

  void grow(std::size_t threads) {
    try {
      while (threads_.size() < threads) threads_.emplace_back([this] { help(); });
    } catch (const std::system_error&) {
      // The system gives no more: those there are do the work.
    }
  }

  void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      called_.wait(lock, [this] { return over_ || !jobs_.empty(); });
      if (over_) return;
      Job& job = *jobs_.front();
      const int worker = ++job.begun;
      if (job.begun == job.helpers) jobs_.pop_front();
      ++job.running;
      lock.unlock();
      job.work(worker);
      lock.lock();
      if (--job.running == 0) job.ended.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable called_;
  std::deque<Job*> jobs_;  ///< that want more helpers
  std::vector<std::thread> threads_;
  bool over_ = false;
};

Crew& crew() {
  static Crew crew;
  return crew;
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
  crew().run(workers - 1, [&](int worker) {
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
