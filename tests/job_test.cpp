// SPDX-License-Identifier: MIT
// Jobs: steps, progress, stop requests and errors.
#include "probust/base/job.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <thread>

#include "support/refusal.h"

namespace probust {
namespace {

using test::expect_refusal;

// A job of ten pieces, two milliseconds each.
class TenPieces : public Job {
 public:
  TenPieces() = default;

  std::int64_t planned() const override { return 10; }
  std::int64_t done() const override { return done_; }

 protected:
  bool advance() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return ++done_ < planned();
  }

  std::int64_t done_ = 0;
};

TEST(Job, AStepDoesAtLeastOnePieceAndContinuesUntilItsTimeIsUp) {
  TenPieces job;
  EXPECT_FALSE(job.step(0));
  EXPECT_EQ(job.done(), 1);
  EXPECT_FALSE(job.step(3));
  EXPECT_GE(job.done(), 2);  // three, unless the machine is busy
  EXPECT_LE(job.done(), 3);
  EXPECT_FALSE(job.finished());
  EXPECT_TRUE(job.step(1e9));
  EXPECT_TRUE(job.finished());
  EXPECT_EQ(job.done(), 10);
  EXPECT_TRUE(job.step(0));
  job.finish();
  EXPECT_EQ(job.done(), 10);
}

TEST(Job, FinishDoesAllRemainingWork) {
  TenPieces job;
  job.step(0);
  job.finish();
  EXPECT_EQ(job.done(), 10);
}

class Endless final : public Job {
 public:
  Endless() = default;
  explicit Endless(StopToken& stop) : Job(stop) {}

  std::int64_t planned() const override { return std::numeric_limits<std::int64_t>::max(); }
  std::int64_t done() const override { return 0; }

 private:
  bool advance() override { return true; }
};

#ifndef __EMSCRIPTEN__  // the WebAssembly tests have one thread
TEST(Job, AStopRequestFromAnotherThreadEndsTheStep) {
  StopToken shared{false};
  Endless own, with_shared(shared);
  for (Endless* job : {&own, &with_shared}) {
    std::thread stopping([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
      job->stop() = true;
    });
    expect_refusal(ErrorCode::interrupted, [&] { job->finish(); });
    stopping.join();
  }
  EXPECT_TRUE(shared);
  shared = false;
  expect_refusal(ErrorCode::interrupted, [&] { with_shared.step(0); });  // the job has ended
}
#endif

TEST(Job, AfterAnErrorEveryStepThrowsIt) {
  class Failing final : public TenPieces {
    bool advance() override {
      if (++done_ == 3) throw std::bad_alloc();
      return true;
    }
  };
  Failing job;
  job.step(0);
  expect_refusal(ErrorCode::resources, [&] { job.finish(); });
  expect_refusal(ErrorCode::resources, [&] { job.step(0); });
  EXPECT_EQ(job.done(), 3);
  EXPECT_FALSE(job.finished());
}

TEST(StepTime, NewWorkMayTakeAsLongAsTheRepetitionBeforeIt) {
  StepTime time;
  time.begin(0);
  EXPECT_TRUE(time.over());
  EXPECT_FALSE(time.new_work_begun());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  time.begin_new_work();
  EXPECT_TRUE(time.new_work_begun());
  const double left = time.left();
  EXPECT_GT(left, 0);
  time.begin_new_work();  // not a second time
  EXPECT_LE(time.left(), left);
  time.end();
  EXPECT_TRUE(time.over());
  time.begin(1e6);
  time.begin_new_work();
  EXPECT_GT(time.left(), 9e5);
  EXPECT_LE(time.left(), 1e6);
  time.begin(std::numeric_limits<double>::infinity());
  time.begin_new_work();
  EXPECT_EQ(time.left(), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace probust
