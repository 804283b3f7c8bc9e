// SPDX-License-Identifier: MIT
#include "probust/base/job.h"

#include <algorithm>
#include <limits>

namespace probust {

void StepTime::begin(double milliseconds) {
  length_ = Milliseconds(milliseconds);
  begin_ = Clock::now();
  end_ = begin_ + length_;
  new_work_begun_ = false;
}

void StepTime::begin_new_work() {
  if (new_work_begun_) return;
  new_work_begun_ = true;
  const auto now = Clock::now();
  end_ = now + std::max<Milliseconds>(length_, now - begin_);
}

bool Job::step(double milliseconds) {
  if (failed_) throw *failed_;
  time_.begin(milliseconds);
  const Result<bool> all = guarded("the run", [&] {
    while (!finished_) {
      stop_if_asked(&stop_);
      finished_ = !advance();
      if (time_.over()) break;
    }
    return finished_;
  });
  if (!all && !can_repeat(all.error())) failed_ = all.error();
  return all.value();
}

void Job::finish() {
  if (!step(std::numeric_limits<double>::infinity()))
    throw Error{ErrorCode::usage, "the run", "needs logits from an external engine",
                "call step() and pass the logits that it requests"};
}

}  // namespace probust
