// SPDX-License-Identifier: MIT
#include "probust/exec/executor.h"

#include <utility>

namespace probust {
namespace {

// For executors that cannot divide the work.
class AveragesAtOnce final : public Averages {
 public:
  AveragesAtOnce(Executor& executor, Points points, Noise noise, std::int64_t samples)
      : Averages(executor.progress.stop),
        executor_(executor),
        points_(std::move(points)),
        noise_(std::move(noise)),
        samples_(samples) {}

  std::int64_t planned() const override { return samples_; }
  std::int64_t done() const override { return finished() ? samples_ : 0; }
  std::vector<Linearization> value() const override { return made_; }

 private:
  bool advance() override {
    made_ = executor_.linearize_averaged(points_, noise_, samples_).value();
    return false;
  }

  Executor& executor_;
  Points points_;
  Noise noise_;
  std::int64_t samples_;
  std::vector<Linearization> made_;
};

}  // namespace

Result<std::unique_ptr<Averages>> Executor::averages(const Points& points, const Noise& noise, std::int64_t samples) {
  return std::unique_ptr<Averages>(std::make_unique<AveragesAtOnce>(*this, points, noise, samples));
}

Result<std::vector<KindTime>> Executor::profile(const Points&, bool) { return std::vector<KindTime>{}; }

}  // namespace probust
