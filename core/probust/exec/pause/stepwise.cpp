// SPDX-License-Identifier: MIT
#include "probust/exec/pause/stepwise.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>

#include "probust/exec/checks.h"
#include "probust/exec/pause/question_key.h"

namespace probust {
namespace {

constexpr std::int64_t kLeastLanes = 16;  // as many as kernels process at once

}  // namespace

void StepwiseExecutor::begin_attempt() {
  next_ = 0;
  paused_ = false;
  for (const auto& [executor, own] : after_) own->begin_attempt();
}

bool StepwiseExecutor::paused() const {
  return paused_ || std::any_of(after_.begin(), after_.end(), [](const auto& entry) { return entry.second->paused(); });
}

void StepwiseExecutor::forget() {
  questions_.clear();
  next_ = 0;
  for (const auto& [executor, own] : after_) own->forget();
}

Result<Executor*> StepwiseExecutor::after(const std::shared_ptr<const NoiseMap>& map) {
  Result<Executor*> made = inner().after(map);
  if (!made || made.value() == nullptr) return made;
  std::unique_ptr<StepwiseExecutor>& own = after_[made.value()];
  if (!own) own = std::make_unique<StepwiseExecutor>(*made.value(), time_, external_);
  return own.get();
}

void StepwiseExecutor::pause() {
  paused_ = true;
  time_.end();
  throw interruption();
}

// Called before a part of a question is computed. Pauses if the step's time limit is reached.
void StepwiseExecutor::begin_part() {
  if (time_.new_work_begun() && time_.over()) pause();
  time_.begin_new_work();
}

// Whether the attempt cannot be paused from here on. Questions are then passed on unchanged, and answers are not stored.
bool StepwiseExecutor::unlimited() const {
  return time_.left() == std::numeric_limits<double>::infinity() && external_ == nullptr && next_ == questions_.size();
}

// The number of units to compute next: as many as fit into the remaining time at the pace so far, in whole groups of lanes; few
// in the first part. Requests to `external` must be the same in every attempt, so their size does not depend on time.
std::int64_t StepwiseExecutor::chunk(const Asked& asked, std::int64_t left, std::int64_t lanes_a_unit) const {
  const std::int64_t lanes = std::max<std::int64_t>(1, lanes_a_unit);
  const std::int64_t threads = inner().options().threads;
  const std::int64_t most = std::max<std::int64_t>(1, inner().forward_batch().examples * threads / lanes);
  if (external_ != nullptr) return std::min(most, left);
  const std::int64_t least = std::clamp<std::int64_t>(kLeastLanes * threads / lanes, 1, most);
  std::int64_t count = least;
  if (asked.pace > 0) {
    const double allowed = time_.left() / asked.pace;
    count = allowed >= static_cast<double>(most) ? most : std::max(least, static_cast<std::int64_t>(allowed) / least * least);
  }
  return std::min(count, left);
}

// The current question: a new one, or the one that the last attempt asked at this place. If the question has been refused, throws
// its Error.
StepwiseExecutor::Asked& StepwiseExecutor::next_question(std::uint64_t key) {
  if (next_ == questions_.size()) questions_.push_back({key});
  Asked& asked = questions_[next_];
  if (asked.key != key)
    throw Error{ErrorCode::internal, "the run", "did not repeat its steps identically",
                "this is a bug in probust; please report it"};
  if (asked.refused) refuse(asked, *asked.refused);
  return asked;
}

// An Error is also an answer: the piece may continue without the result, as `auto` does if there are no moments.
void StepwiseExecutor::refuse(Asked& asked, const Error& error) {
  if (error.code != ErrorCode::interrupted) {
    asked.refused = error;
    ++next_;
  }
  throw Error(error);
}

// The external engine's answers for a part are stored until the part is done. Its earlier answers, for noise drawn between
// questions, are stored until the piece of work is done.
void StepwiseExecutor::begin_asking(Asked& asked) {
  if (external_ != nullptr && !asked.stored) asked.stored = external_->stored();
}

void StepwiseExecutor::end_asking(Asked& asked) {
  if (external_ != nullptr) external_->forget(asked.stored.value());
  asked.stored.reset();
}

// Answers the next question, continuing where the last attempt was paused. part(first, count) computes some of its units;
// add(answer, part, first) adds them to the answer.
template <class T, class Part, class Add>
T StepwiseExecutor::ask(std::uint64_t key, std::int64_t units, std::int64_t lanes_a_unit, Part part, Add add, double* pace) {
  Asked& asked = next_question(key);
  if (!asked.begun) asked.answer = T{};
  if (pace != nullptr && asked.pace == 0) asked.pace = *pace;
  while (!asked.begun || asked.done < units) {
    begin_part();
    const std::int64_t count = chunk(asked, units - asked.done, lanes_a_unit);
    const auto before = std::chrono::steady_clock::now();
    begin_asking(asked);
    auto result = part(asked.done, count);
    if (external_ != nullptr && external_->wanted() != nullptr) pause();
    if (!result) refuse(asked, result.error());
    add(std::get<T>(asked.answer), std::move(result).value(), asked.done);
    end_asking(asked);
    asked.begun = true;
    asked.done += count;
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - before;
    asked.pace = taken.count() / static_cast<double>(std::max<std::int64_t>(1, count));
  }
  if (pace != nullptr) *pace = asked.pace;
  ++next_;
  return std::get<T>(asked.answer);
}

// Asks a question whose units are points.
template <class T, class Part>
std::vector<T> StepwiseExecutor::ask_points(std::uint64_t key, const Points& points, Part part) {
  return ask<std::vector<T>>(
      key, points.size(), inner().classes(),
      [&](std::int64_t first, std::int64_t count) { return part(slice(points, first, count), first); },
      [](std::vector<T>& all, std::vector<T> some, std::int64_t) {
        std::move(some.begin(), some.end(), std::back_inserter(all));
      });
}

Result<ExecutorAnswer> StepwiseExecutor::answer(const ExecutorQuestion& question) {
  if (unlimited()) return inner().answer(question);
  return answer_by_type(question, [this](const auto& one) { return guarded("the model", [&] { return in_parts(one); }); });
}

Tensor StepwiseExecutor::in_parts(const LogitsAt& question) {
  const Tensor& x = question.x;
  const std::int64_t n = checked_rows(inner(), x);
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return count == n ? inner().logits(x) : inner().logits(rows(x, first, count));
  };
  const auto add = [&](Tensor& all, const Tensor& some, std::int64_t) {
    all.data.insert(all.data.end(), some.data.begin(), some.data.end());
    all.shape = {static_cast<std::int64_t>(all.data.size()) / inner().classes(), inner().classes()};
  };
  return ask<Tensor>(QuestionKey("logits").with(x), n, 1, part, add, &progress.pace);
}

std::monostate StepwiseExecutor::in_parts(const JacobianAt& question) {
  const Tensor& x = question.x;
  const std::int64_t n = checked_rows(inner(), x), classes = inner().classes(), elements = element_count(inner().point_shape());
  const auto part = [&](std::int64_t first, std::int64_t count) -> Result<std::vector<float>> {
    std::vector<float> values;
    const auto done = inner().jacobian(
        rows(x, first, count), [&](std::int64_t, std::span<const float> J) { values.insert(values.end(), J.begin(), J.end()); });
    if (!done) return done.error();
    return values;
  };
  const auto add = [](Tensor& all, const std::vector<float>& some, std::int64_t) {
    all.data.insert(all.data.end(), some.begin(), some.end());
  };
  const Tensor all = ask<Tensor>(QuestionKey("jacobian").with(x), n, classes, part, add);
  const auto size = static_cast<std::size_t>(classes * elements);
  for (std::int64_t i = 0; i < n; ++i) question.take(i, std::span(all.data).subspan(i * size, size));
  return {};
}

std::vector<Linearization> StepwiseExecutor::in_parts(const LinearizeAtPoint& question) {
  return ask_points<Linearization>(QuestionKey("linearize").with(question.points, question.shape), question.points,
                                   [&](const Points& some, std::int64_t) { return inner().linearize(some, question.shape); });
}

std::vector<Linearization> StepwiseExecutor::in_parts(const LinearizeAtMean& question) {
  return ask_points<Linearization>(
      QuestionKey("linearize_smoothed").with(question.points, question.noise), question.points,
      [&](const Points& some, std::int64_t) { return inner().linearize_smoothed(some, question.noise); });
}

std::vector<LogitMoments> StepwiseExecutor::in_parts(const PropagateMoments& question) {
  return ask_points<LogitMoments>(QuestionKey("moments").with(question.points, question.noise), question.points,
                                  [&](const Points& some, std::int64_t) { return inner().moments(some, question.noise); });
}

// Averages are a separate job, because a point may have many noisy samples.
const AverageJob& StepwiseExecutor::ask_averages(const Points& points, const Noise& noise, std::int64_t samples) {
  Asked& asked = next_question(QuestionKey("linearize_averaged").with(points, noise, samples));
  if (!asked.begun) {
    begin_part();
    auto averages = inner().averages(points, noise, samples);
    if (!averages) refuse(asked, averages.error());
    asked.answer = std::move(averages).value();
    asked.begun = true;
  }
  AverageJob& averages = *std::get<std::unique_ptr<AverageJob>>(asked.answer);
  while (!averages.finished()) {
    begin_part();
    if (external_ == nullptr)
      averages.step(time_.left());
    else
      add_one_piece(asked, averages);
  }
  ++next_;
  return averages;
}

// Runs one step of the averages. The external engine's answers are not needed again, because the averages store their sums.
void StepwiseExecutor::add_one_piece(Asked& asked, AverageJob& averages) {
  begin_asking(asked);
  const auto added = guarded("the model", [&] { return averages.step(0); });
  if (external_->wanted() != nullptr) pause();
  (void)added.value();
  end_asking(asked);
}

std::vector<Linearization> StepwiseExecutor::in_parts(const LinearizeAveraged& question) {
  const Points& points = question.points;
  check(inner(), points, *question.noise.shape);
  const std::int64_t together = std::max(1, inner().options().threads);  // number of points
  std::vector<const AverageJob*> groups;
  for (std::int64_t first = 0; first < points.size(); first += together) {
    const Points some = slice(points, first, std::min(together, points.size() - first));
    groups.push_back(&ask_averages(some, question.noise, question.samples));
  }
  std::vector<Linearization> all;  // copied only once, because only the last attempt reaches this line
  for (const AverageJob* averages : groups) {
    std::vector<Linearization> some = averages->value();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

PredictionCounts StepwiseExecutor::in_parts(const CountPredictions& question) {
  const auto& [points, noise, samples, first] = question;
  const auto part = [&](std::int64_t from, std::int64_t count) {
    return inner().sample(question.points, question.noise, count, question.first + from);
  };
  const auto add = [](PredictionCounts& all, PredictionCounts some, std::int64_t from) {
    if (from == 0) {
      all = std::move(some);
    } else {
      add_counts(some, all);
    }
  };
  return ask<PredictionCounts>(QuestionKey("sample").with(points, noise, samples, first), samples, points.size(), part, add);
}

std::vector<Pairs> StepwiseExecutor::in_parts(const PairMargins& question) {
  const auto& [points, noise, count, first] = question;
  const auto part = [&](std::int64_t from, std::int64_t some) {
    return inner().pairs(question.points, question.noise, some, question.first + from);
  };
  const auto add = [&](std::vector<Pairs>& all, const std::vector<Pairs>& some, std::int64_t from) {
    if (from == 0) all = room_for_pairs(question.points.size(), inner().classes() - 1, question.count);
    for (std::size_t i = 0; i < some.size(); ++i) put_pairs(some[i], from, all[i]);
  };
  return ask<std::vector<Pairs>>(QuestionKey("pairs").with(points, noise, count, first), count, points.size(), part, add);
}

// Computes the gradients of all points and the projected noise first, and then the margins of the samples in parts, for which
// their noise is drawn again.
std::vector<Projection> StepwiseExecutor::in_parts(const ProjectNoise& question) {
  const auto& [points, rivals, noise, count, known, at] = question;
  const QuestionKey key = QuestionKey("project").with(points, rivals, noise, count, std::int64_t{at == LinearizeAt::noise_mean});
  const auto part = [&](const Points& some, std::int64_t first) {
    const std::vector<std::vector<std::int64_t>> theirs(question.rivals.begin() + first,
                                                        question.rivals.begin() + first + some.size());
    return inner().project(some, theirs, question.noise, question.count, question.count, question.at);
  };
  std::vector<Projection> all = ask_points<Projection>(key, points, part);
  if (known == count) return all;
  std::vector<Pairs> margins = in_parts(PairMargins{points, noise, count - known, known});
  for (std::size_t i = 0; i < margins.size(); ++i) all[i].pairs = std::move(margins[i]);
  return all;
}

}  // namespace probust
