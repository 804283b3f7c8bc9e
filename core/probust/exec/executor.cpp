// SPDX-License-Identifier: MIT
#include "probust/exec/executor.h"

#include <optional>

namespace probust {
namespace {

// For executors that cannot pause: the first instalment does everything.
class AveragesAtOnce final : public Averages {
 public:
  AveragesAtOnce(Executor& executor, Points points, Noise noise, std::int64_t samples)
      : executor_(executor), points_(std::move(points)), noise_(std::move(noise)), samples_(samples) {}

  Result<std::monostate> reach(std::int64_t) override {
    return guarded("model", [&] {
      if (!made_) made_ = executor_.linearize_averaged(points_, noise_, samples_).value();
      return std::monostate{};
    });
  }
  Result<std::vector<Linearization>> value() override {
    if (const auto done = reach(samples_); !done) return done.error();
    return *made_;
  }

 private:
  Executor& executor_;
  Points points_;
  Noise noise_;
  std::int64_t samples_;
  std::optional<std::vector<Linearization>> made_;
};

}  // namespace

Result<std::unique_ptr<Averages>> Executor::averages(const Points& points, const Noise& noise, std::int64_t samples) {
  return std::unique_ptr<Averages>(std::make_unique<AveragesAtOnce>(*this, points, noise, samples));
}

Result<std::vector<KindTime>> Executor::profile(const Points&, bool) { return std::vector<KindTime>{}; }

}  // namespace probust
