// SPDX-License-Identifier: MIT
//
// How to pause and stop a long computation, and how to show its progress.
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

  /// Call this when new work begins after a step has only repeated earlier work. If the repetition took longer than the step's
  /// time limit, the new work may take as long as the repetition, so that at most half of the time is spent repeating. Only the
  /// first call in a step has an effect.
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

  /// Works for about `milliseconds`, and does at least one piece of the work. Returns whether the job is done. Throws Error;
  /// every later step then throws the same Error, unless the failed piece can be repeated (can_repeat).
  bool step(double milliseconds);

  /// Does all remaining work in one step. Throws as step does, and Error{usage} if the job needs logits from an external engine.
  void finish();

  bool finished() const { return finished_; }

  /// The expected total amount of work, in passes through the network, points or batches. It may change.
  virtual std::int64_t planned() const = 0;
  virtual std::int64_t done() const = 0;

  /// Set this token to end the running step, and the job, with Error{interrupted}. If an executor or a trainer does the work,
  /// this is its token: all of its work ends with this error until the token is cleared.
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
