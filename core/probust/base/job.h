// SPDX-License-Identifier: MIT
//
// The one mechanism for pausing and stopping long computations and for showing their progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "probust/base/error.h"
#include "probust/base/stop.h"

namespace probust {

/// The time limit of a job's step.
class StepTime {
 public:
  void begin(double milliseconds);

  /// Call this when new work begins after a step has only repeated earlier work. The new work may then take as long as the
  /// repetition, if that was longer than the step, so that at most half of the time is spent on repetitions. Only the first call
  /// in a step has an effect.
  void begin_new_work();
  bool new_work_begun() const { return new_work_begun_; }

  void end() { end_ = Clock::now(); }
  bool over() const { return !(left() > 0); }
  double left() const { return Milliseconds(end_ - Clock::now()).count(); }  ///< milliseconds; infinity if there is no limit

 private:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::duration<double, std::milli>;  // a double, so that it can be infinite

  Milliseconds length_{0};
  std::chrono::time_point<Clock, Milliseconds> begin_, end_;
  bool new_work_begun_ = false;
};

/// A long computation in steps, for callers that must not block, that show progress or that may stop it:
///
///   while (!job.step(20)) show(job.done(), job.planned());
///
/// The result does not depend on where steps end. To abandon the job between steps, destroy it.
class Job {
 public:
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Works for about `milliseconds`, and does at least one piece of the work. Returns whether all is done. Throws Error; every
  /// later step then throws the same, unless the piece can be repeated.
  bool step(double milliseconds);

  /// Does all remaining work in one step. Throws as step does, and Error{usage} if it needs logits from an external engine.
  void finish();

  bool finished() const { return finished_; }

  /// The expected total amount of work, in passes through the network, points or batches. It may change.
  virtual std::int64_t planned() const = 0;
  virtual std::int64_t done() const = 0;

  /// Set it to end the running step, and the job, with Error{interrupted}. It belongs to the executor or trainer that does the
  /// work, if any: then it ends all their work until it is cleared.
  StopToken& stop() { return stop_; }

 protected:
  Job() : stop_(own_stop_) {}
  explicit Job(StopToken& stop) : stop_(stop) {}

  StepTime& time() { return time_; }

 private:
  /// Does the next piece of the work. Returns whether there is more.
  virtual bool advance() = 0;
  /// Whether the piece of work that ended with this error can be repeated, so that the job can continue in the next step.
  virtual bool can_repeat(const Error&) const { return false; }

  StopToken own_stop_{false};
  StopToken& stop_;
  StepTime time_;
  bool finished_ = false;
  std::optional<Error> failed_;
};

}  // namespace probust
