// SPDX-License-Identifier: MIT
#include "probust/exec/stepwise.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "probust/exec/checks.h"

namespace probust {
namespace {

constexpr std::int64_t kLeastLanes = 16;  // a group that kernels process at once

}  // namespace

void StepwiseExecutor::resume(double milliseconds) {
  next_ = 0;
  worked_ = interrupted_ = false;
  budget_ = std::chrono::duration<double, std::milli>(milliseconds);
  begun_ = Clock::now();
  if (external_ != nullptr) external_->resume();
}

void StepwiseExecutor::forget() {
  questions_.clear();
  next_ = 0;
}

// Sets the deadline when new work begins: the budget, or as long as the replay took if that is longer, so that replays take at
// most half of the time.
void StepwiseExecutor::begin_work() {
  if (worked_) return;
  const auto now = Clock::now();
  const auto granted = std::max<std::chrono::duration<double, std::milli>>(budget_, now - begun_);
  deadline_ = now + std::chrono::duration_cast<Clock::duration>(granted);
  worked_ = true;
}

// As many units as fit the time left at the pace so far, in whole groups of lanes; few at first. Requests to `external` must be
// the same in every attempt, so they do not depend on time.
std::int64_t StepwiseExecutor::chunk(const Question& question, std::int64_t left, std::int64_t lanes_a_unit) const {
  const std::int64_t lanes = std::max<std::int64_t>(1, lanes_a_unit);
  const std::int64_t threads = inner_.options().threads;
  const std::int64_t most = std::max<std::int64_t>(1, inner_.forward_batch().examples * threads / lanes);
  if (external_ != nullptr) return std::min(most, left);
  const std::int64_t least = std::clamp<std::int64_t>(kLeastLanes * threads / lanes, 1, most);
  std::int64_t count = least;
  if (question.pace > 0) {
    const double allowed = std::chrono::duration<double, std::milli>(deadline_ - Clock::now()).count() / question.pace;
    count = allowed >= static_cast<double>(most) ? most : std::max(least, static_cast<std::int64_t>(allowed) / least * least);
  }
  return std::min(count, left);
}

// Answers the next question, continuing where the last attempt stopped. part(first, count) computes some of its units;
// add(answer, part, first) adds them to the answer.
template <class T, class Part, class Add>
Result<T> StepwiseExecutor::ask(std::int64_t units, std::int64_t lanes_a_unit, Part part, Add add, double* pace) {
  if (next_ == questions_.size()) questions_.push_back({T{}});
  Question& question = questions_[next_];
  if (pace != nullptr && question.pace == 0) question.pace = *pace;
  while (!question.begun || question.done < units) {
    if (out_of_time()) {
      interrupted_ = true;
      return interruption();
    }
    begin_work();
    const std::int64_t count = chunk(question, units - question.done, lanes_a_unit);
    const auto before = Clock::now();
    auto result = part(question.done, count);
    if (!result) {
      interrupted_ = external_ != nullptr && external_->wanted() != nullptr;
      return result.error();
    }
    add(std::get<T>(question.answer), std::move(result).value(), question.done);
    question.begun = true;
    question.done += count;
    const std::chrono::duration<double, std::milli> taken = Clock::now() - before;
    question.pace = taken.count() / static_cast<double>(std::max<std::int64_t>(1, count));
  }
  if (pace != nullptr) *pace = question.pace;
  ++next_;
  return std::get<T>(question.answer);
}

// A question whose units are points.
template <class T, class Part>
Result<std::vector<T>> StepwiseExecutor::ask_points(const Points& points, Part part) {
  return guarded("points", [&] {
    return ask<std::vector<T>>(
               points.size(), inner_.classes(),
               [&](std::int64_t first, std::int64_t count) { return part(slice(points, first, count), first); },
               [](std::vector<T>& all, std::vector<T> some, std::int64_t) {
                 std::move(some.begin(), some.end(), std::back_inserter(all));
               })
        .value();
  });
}

Result<Tensor> StepwiseExecutor::logits(const Tensor& x) {
  if (x.shape.empty()) return inner_.logits(x);
  const std::int64_t n = x.shape[0];
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return count == n ? inner_.logits(x) : inner_.logits(rows(x, first, count));
  };
  const auto add = [&](Tensor& all, const Tensor& some, std::int64_t) {
    all.data.insert(all.data.end(), some.data.begin(), some.data.end());
    all.shape = {static_cast<std::int64_t>(all.data.size()) / inner_.classes(), inner_.classes()};
  };
  return ask<Tensor>(n, 1, part, add, pace_ == nullptr ? nullptr : &pace_->logits);
}

Result<std::monostate> StepwiseExecutor::jacobian(const Tensor& x,
                                                  const std::function<void(std::int64_t, std::span<const float>)>& take) {
  if (x.shape.empty()) return inner_.jacobian(x, take);
  const auto part = [&](std::int64_t first, std::int64_t count) -> Result<std::vector<float>> {
    std::vector<float> values;
    const auto done = inner_.jacobian(
        rows(x, first, count), [&](std::int64_t, std::span<const float> J) { values.insert(values.end(), J.begin(), J.end()); });
    if (!done) return done.error();
    return values;
  };
  const auto all = ask<std::vector<float>>(x.shape[0], inner_.classes(), part,
                                           [](std::vector<float>& values, const std::vector<float>& some, std::int64_t) {
                                             values.insert(values.end(), some.begin(), some.end());
                                           });
  if (!all) return all.error();
  const auto size = static_cast<std::size_t>(inner_.classes() * element_count(inner_.point_shape()));
  for (std::int64_t i = 0; i < x.shape[0]; ++i) take(i, std::span(*all).subspan(i * size, size));
  return std::monostate{};
}

Result<std::vector<Linearization>> StepwiseExecutor::linearize(const Points& points, const NoiseShape& shape) {
  return ask_points<Linearization>(points, [&](const Points& some, std::int64_t) { return inner_.linearize(some, shape); });
}

Result<std::vector<Linearization>> StepwiseExecutor::linearize_smoothed(const Points& points, const Noise& noise) {
  return ask_points<Linearization>(points,
                                   [&](const Points& some, std::int64_t) { return inner_.linearize_smoothed(some, noise); });
}

Result<std::vector<Linearization>> StepwiseExecutor::linearize_averaged(const Points& points, const Noise& noise,
                                                                        std::int64_t samples) {
  // One point per thread at a time; a unit is a copy of each.
  const auto sums_of = [&](const Points& some) {
    const auto part = [&](std::int64_t first, std::int64_t count) -> Result<Sums> {
      Sums sums = std::get<Sums>(questions_[next_].answer);
      if (!sums) sums = inner_.averages(some, noise, samples).value();
      sums->reach(first + count).value();
      return sums;
    };
    const auto keep = [](Sums& all, Sums so_far, std::int64_t) { all = std::move(so_far); };
    return ask<Sums>(samples, some.size() * inner_.classes(), part, keep).value();
  };
  return guarded("points", [&] {
    check(inner_, points, *noise.shape);
    const std::int64_t together = std::max(1, inner_.options().threads);
    std::vector<Sums> groups;
    for (std::int64_t first = 0; first < points.size(); first += together)
      groups.push_back(sums_of(slice(points, first, std::min(together, points.size() - first))));
    std::vector<Linearization> all;  // copied only once, because only the last attempt gets here
    for (const Sums& sums : groups) {
      std::vector<Linearization> some = sums->value().value();
      std::move(some.begin(), some.end(), std::back_inserter(all));
    }
    return all;
  });
}

Result<std::vector<std::vector<std::int64_t>>> StepwiseExecutor::sample(const Points& points, const Noise& noise,
                                                                        std::int64_t samples, std::int64_t first) {
  return ask<Counts>(
      samples, points.size(),
      [&](std::int64_t from, std::int64_t count) { return inner_.sample(points, noise, count, first + from); },
      [](Counts& all, Counts some, std::int64_t from) {
        if (from == 0) {
          all = std::move(some);
          return;
        }
        for (std::size_t i = 0; i < all.size(); ++i)
          std::transform(all[i].begin(), all[i].end(), some[i].begin(), all[i].begin(), std::plus<>());
      });
}

Result<std::vector<Pairs>> StepwiseExecutor::pairs(const Points& points, const Noise& noise, std::int64_t count,
                                                   std::int64_t first) {
  return ask<std::vector<Pairs>>(
      count, points.size(), [&](std::int64_t from, std::int64_t some) { return inner_.pairs(points, noise, some, first + from); },
      [&](std::vector<Pairs>& all, const std::vector<Pairs>& some, std::int64_t from) {
        const Eigen::Index m = inner_.classes() - 1;
        if (from == 0) all.assign(some.size(), {Eigen::MatrixXd(m, count), Eigen::MatrixXd(m, count)});
        for (std::size_t i = 0; i < some.size(); ++i) {
          all[i].plus.middleCols(from, some[i].size()) = some[i].plus;
          all[i].minus.middleCols(from, some[i].size()) = some[i].minus;
        }
      });
}

// First the gradients of all points and the projected noise of their copies, then the copies' margins in instalments, which draws
// their noise again.
Result<std::vector<Projection>> StepwiseExecutor::project(const Points& points,
                                                          const std::vector<std::vector<std::int64_t>>& rivals,
                                                          const Noise& noise, std::int64_t count, std::int64_t known,
                                                          Around around) {
  auto all = ask_points<Projection>(points, [&](const Points& some, std::int64_t first) {
    const std::vector<std::vector<std::int64_t>> theirs(rivals.begin() + first, rivals.begin() + first + some.size());
    return inner_.project(some, theirs, noise, count, count, around);
  });
  if (!all || known == count) return all;
  auto margins = pairs(points, noise, count - known, known);
  if (!margins) return margins.error();
  for (std::size_t i = 0; i < margins.value().size(); ++i) all.value()[i].pairs = std::move(margins.value()[i]);
  return all;
}

}  // namespace probust
