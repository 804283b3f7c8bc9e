// SPDX-License-Identifier: MIT
#include "probust/exec/stepwise.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>

#include "probust/exec/checks.h"

namespace probust {
namespace {

constexpr std::int64_t kLeastLanes = 16;  // a group that kernels process at once

// A number that identifies a question: its kind and its arguments. Every attempt computes it, so of long lists it takes only some
// elements.
class QuestionKey {
 public:
  explicit QuestionKey(std::string_view kind) { add(kind); }

  template <class... Parts>
  QuestionKey& with(const Parts&... parts) {
    (add(parts), ...);
    return *this;
  }

  operator std::uint64_t() const { return value_; }  // NOLINT(google-explicit-constructor)

 private:
  void add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 32;
  }
  void add(std::int64_t number) { add(static_cast<std::uint64_t>(number)); }
  void add(double number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    add(bits);
  }
  void add(float number) { add(double{number}); }
  void add(std::string_view text) {
    for (const char character : text) add(static_cast<std::uint64_t>(character));
  }
  template <class T>
  void add(const std::vector<T>& list) {
    constexpr std::size_t kMost = 256;
    add(std::uint64_t{list.size()});
    for (std::size_t i = 0; i < list.size(); i += list.size() / kMost + 1) add(list[i]);
  }
  void add(const Tensor& x) { with(x.shape, x.data); }
  void add(const Points& points) { with(points.x, points.index, points.target, points.seed, points.draws); }
  void add(const NoiseShape& shape) { add(std::string_view(shape.name())); }
  void add(const Noise& noise) { with(*noise.shape, noise.scale); }

  std::uint64_t value_ = 0;
};

}  // namespace

void StepwiseExecutor::begin_attempt() {
  next_ = 0;
  paused_ = false;
}

void StepwiseExecutor::forget() {
  questions_.clear();
  next_ = 0;
}

void StepwiseExecutor::pause() {
  paused_ = true;
  time_.end();
  throw interruption();
}

// A question's part is about to be computed.
void StepwiseExecutor::begin_part() {
  if (time_.new_work_begun() && time_.over()) pause();
  time_.begin_new_work();
}

// Whether the attempt cannot be paused from here on: then questions are passed on as they are, and no answer is kept.
bool StepwiseExecutor::unlimited() const {
  return time_.left() == std::numeric_limits<double>::infinity() && external_ == nullptr && next_ == questions_.size();
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
    const double allowed = time_.left() / question.pace;
    count = allowed >= static_cast<double>(most) ? most : std::max(least, static_cast<std::int64_t>(allowed) / least * least);
  }
  return std::min(count, left);
}

// The question that is asked now: a new one, or the one that the last attempt asked here. Throws its refusal.
StepwiseExecutor::Question& StepwiseExecutor::next_question(std::uint64_t key) {
  if (next_ == questions_.size()) questions_.push_back({key});
  Question& question = questions_[next_];
  if (question.key != key)
    throw Error{ErrorCode::internal, "the run", "repeated a piece of work differently", "please report it"};
  if (question.refused) refuse(question, *question.refused);
  return question;
}

// An Error is an answer, too: the piece may go on without this one, as `auto` does if there are no moments.
void StepwiseExecutor::refuse(Question& question, const Error& error) {
  if (error.code != ErrorCode::interrupted) {
    question.refused = error;
    ++next_;
  }
  throw Error(error);
}

// Answers the next question, continuing where the last attempt was paused. part(first, count) computes some of its units;
// add(answer, part, first) adds them to the answer.
template <class T, class Part, class Add>
T StepwiseExecutor::ask(std::uint64_t key, std::int64_t units, std::int64_t lanes_a_unit, Part part, Add add, double* pace) {
  Question& question = next_question(key);
  if (!question.begun) question.answer = T{};
  if (pace != nullptr && question.pace == 0) question.pace = *pace;
  while (!question.begun || question.done < units) {
    begin_part();
    const std::int64_t count = chunk(question, units - question.done, lanes_a_unit);
    const auto before = std::chrono::steady_clock::now();
    auto result = part(question.done, count);
    if (external_ != nullptr && external_->wanted() != nullptr) pause();
    if (!result) refuse(question, result.error());
    add(std::get<T>(question.answer), std::move(result).value(), question.done);
    if (external_ != nullptr) external_->forget();
    question.begun = true;
    question.done += count;
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - before;
    question.pace = taken.count() / static_cast<double>(std::max<std::int64_t>(1, count));
  }
  if (pace != nullptr) *pace = question.pace;
  ++next_;
  return std::get<T>(question.answer);
}

// A question whose units are points.
template <class T, class Part>
std::vector<T> StepwiseExecutor::ask_points(std::uint64_t key, const Points& points, Part part) {
  return ask<std::vector<T>>(
      key, points.size(), inner_.classes(),
      [&](std::int64_t first, std::int64_t count) { return part(slice(points, first, count), first); },
      [](std::vector<T>& all, std::vector<T> some, std::int64_t) {
        std::move(some.begin(), some.end(), std::back_inserter(all));
      });
}

Result<Tensor> StepwiseExecutor::logits(const Tensor& x) {
  if (x.shape.empty() || unlimited()) return inner_.logits(x);
  const std::int64_t n = x.shape[0];
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return count == n ? inner_.logits(x) : inner_.logits(rows(x, first, count));
  };
  const auto add = [&](Tensor& all, const Tensor& some, std::int64_t) {
    all.data.insert(all.data.end(), some.data.begin(), some.data.end());
    all.shape = {static_cast<std::int64_t>(all.data.size()) / inner_.classes(), inner_.classes()};
  };
  return guarded("the model", [&] { return ask<Tensor>(QuestionKey("logits").with(x), n, 1, part, add, &progress.pace); });
}

Result<std::monostate> StepwiseExecutor::jacobian(const Tensor& x,
                                                  const std::function<void(std::int64_t, std::span<const float>)>& take) {
  if (x.shape.empty() || unlimited()) return inner_.jacobian(x, take);
  const auto part = [&](std::int64_t first, std::int64_t count) -> Result<std::vector<float>> {
    std::vector<float> values;
    const auto done = inner_.jacobian(
        rows(x, first, count), [&](std::int64_t, std::span<const float> J) { values.insert(values.end(), J.begin(), J.end()); });
    if (!done) return done.error();
    return values;
  };
  const auto add = [](std::vector<float>& values, const std::vector<float>& some, std::int64_t) {
    values.insert(values.end(), some.begin(), some.end());
  };
  return guarded("the model", [&] {
    const auto all = ask<std::vector<float>>(QuestionKey("jacobian").with(x), x.shape[0], inner_.classes(), part, add);
    const auto size = static_cast<std::size_t>(inner_.classes() * element_count(inner_.point_shape()));
    for (std::int64_t i = 0; i < x.shape[0]; ++i) take(i, std::span(all).subspan(i * size, size));
    return std::monostate{};
  });
}

Result<std::vector<Linearization>> StepwiseExecutor::linearize(const Points& points, const NoiseShape& shape) {
  if (unlimited()) return inner_.linearize(points, shape);
  return guarded("the block", [&] {
    return ask_points<Linearization>(QuestionKey("linearize").with(points, shape), points,
                                     [&](const Points& some, std::int64_t) { return inner_.linearize(some, shape); });
  });
}

Result<std::vector<Linearization>> StepwiseExecutor::linearize_smoothed(const Points& points, const Noise& noise) {
  if (unlimited()) return inner_.linearize_smoothed(points, noise);
  return guarded("the block", [&] {
    return ask_points<Linearization>(QuestionKey("linearize_smoothed").with(points, noise), points,
                                     [&](const Points& some, std::int64_t) { return inner_.linearize_smoothed(some, noise); });
  });
}

Result<std::vector<LogitMoments>> StepwiseExecutor::moments(const Points& points, const Noise& noise) {
  if (unlimited()) return inner_.moments(points, noise);
  return guarded("the block", [&] {
    return ask_points<LogitMoments>(QuestionKey("moments").with(points, noise), points,
                                    [&](const Points& some, std::int64_t) { return inner_.moments(some, noise); });
  });
}

// Averages are a job of their own, because a point may have many copies.
const Averages& StepwiseExecutor::ask_averages(const Points& points, const Noise& noise, std::int64_t samples) {
  Question& question = next_question(QuestionKey("linearize_averaged").with(points, noise, samples));
  if (!question.begun) {
    begin_part();
    auto averages = inner_.averages(points, noise, samples);
    if (!averages) refuse(question, averages.error());
    question.answer = std::move(averages).value();
    question.begun = true;
  }
  Averages& averages = *std::get<std::unique_ptr<Averages>>(question.answer);
  while (!averages.finished()) {
    begin_part();
    if (external_ == nullptr)
      averages.step(time_.left());
    else
      add_one_piece(averages);
  }
  ++next_;
  return averages;
}

// Its answers are not needed again, because the averages keep what they have.
void StepwiseExecutor::add_one_piece(Averages& averages) {
  const auto added = guarded("the block", [&] { return averages.step(0); });
  if (external_->wanted() != nullptr) pause();
  (void)added.value();
  external_->forget();
}

Result<std::vector<Linearization>> StepwiseExecutor::linearize_averaged(const Points& points, const Noise& noise,
                                                                        std::int64_t samples) {
  if (unlimited()) return inner_.linearize_averaged(points, noise, samples);
  return guarded("the block", [&] {
    check(inner_, points, *noise.shape);
    const std::int64_t together = std::max(1, inner_.options().threads);  // points
    std::vector<const Averages*> groups;
    for (std::int64_t first = 0; first < points.size(); first += together)
      groups.push_back(&ask_averages(slice(points, first, std::min(together, points.size() - first)), noise, samples));
    std::vector<Linearization> all;  // copied only once, because only the last attempt gets here
    for (const Averages* averages : groups) {
      std::vector<Linearization> some = averages->value();
      std::move(some.begin(), some.end(), std::back_inserter(all));
    }
    return all;
  });
}

Result<std::vector<std::vector<std::int64_t>>> StepwiseExecutor::sample(const Points& points, const Noise& noise,
                                                                        std::int64_t samples, std::int64_t first) {
  if (unlimited()) return inner_.sample(points, noise, samples, first);
  const auto part = [&](std::int64_t from, std::int64_t count) { return inner_.sample(points, noise, count, first + from); };
  const auto add = [](Counts& all, Counts some, std::int64_t from) {
    if (from == 0) {
      all = std::move(some);
      return;
    }
    for (std::size_t i = 0; i < all.size(); ++i)
      std::transform(all[i].begin(), all[i].end(), some[i].begin(), all[i].begin(), std::plus<>());
  };
  return guarded("the block", [&] {
    const QuestionKey key = QuestionKey("sample").with(points, noise, samples, first);
    return ask<Counts>(key, samples, points.size(), part, add);
  });
}

std::vector<Pairs> StepwiseExecutor::ask_pairs(const Points& points, const Noise& noise, std::int64_t count, std::int64_t first) {
  const auto part = [&](std::int64_t from, std::int64_t some) { return inner_.pairs(points, noise, some, first + from); };
  const auto add = [&](std::vector<Pairs>& all, const std::vector<Pairs>& some, std::int64_t from) {
    if (from == 0) all = room_for_pairs(points.size(), inner_.classes() - 1, count);
    for (std::size_t i = 0; i < some.size(); ++i) put_pairs(some[i], from, all[i]);
  };
  const QuestionKey key = QuestionKey("pairs").with(points, noise, count, first);
  return ask<std::vector<Pairs>>(key, count, points.size(), part, add);
}

Result<std::vector<Pairs>> StepwiseExecutor::pairs(const Points& points, const Noise& noise, std::int64_t count,
                                                   std::int64_t first) {
  if (unlimited()) return inner_.pairs(points, noise, count, first);
  return guarded("the block", [&] { return ask_pairs(points, noise, count, first); });
}

// First the gradients of all points and the projected noise of their copies, then the copies' margins in parts, which draws their
// noise again.
Result<std::vector<Projection>> StepwiseExecutor::project(const Points& points,
                                                          const std::vector<std::vector<std::int64_t>>& rivals,
                                                          const Noise& noise, std::int64_t count, std::int64_t known,
                                                          Around around) {
  if (unlimited()) return inner_.project(points, rivals, noise, count, known, around);
  return guarded("the block", [&] {
    const QuestionKey key = QuestionKey("project").with(points, rivals, noise, count, std::int64_t{around == Around::noise});
    auto all = ask_points<Projection>(key, points, [&](const Points& some, std::int64_t first) {
      const std::vector<std::vector<std::int64_t>> theirs(rivals.begin() + first, rivals.begin() + first + some.size());
      return inner_.project(some, theirs, noise, count, count, around);
    });
    if (known == count) return all;
    std::vector<Pairs> margins = ask_pairs(points, noise, count - known, known);
    for (std::size_t i = 0; i < margins.size(); ++i) all[i].pairs = std::move(margins[i]);
    return all;
  });
}

}  // namespace probust
