// SPDX-License-Identifier: MIT
#include "cli/run/ledger.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "probust/estimators/statistics/pooling.h"
#include "probust/run/run.h"

namespace probust::cli {
namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

bool has_answer(const Row& row) { return !std::isnan(row.estimate.p) || row.estimate.status == Status::degenerate; }

}  // namespace

Ledger::Ledger(const Plan& plan, std::string model, Span span, Destination& destination, Rules rules)
    : plan_(plan),
      model_(std::move(model)),
      span_(span),
      destination_(destination),
      rules_(rules),
      next_(span.first),
      written_to_(span.first) {}

std::optional<Assignment> Ledger::next(std::int64_t count) {
  const std::lock_guard lock(mutex_);
  if (!given_back_.empty()) {
    Assignment again = std::move(given_back_.back());
    given_back_.pop_back();
    return again;
  }
  while (next_ < span_.last) {
    const std::int64_t most = std::min(points_in_block(next_, kBlock), span_.last - next_);
    Assignment next{{model_, next_, std::clamp<std::int64_t>(count, 1, most)}, {}};
    next_ += next.block.count;
    next.wanted = destination_.answered(next.block, plan_);
    next.wanted.flip();
    const bool any = std::find(next.wanted.begin(), next.wanted.end(), true) != next.wanted.end();
    if (any && rules_.all_or_nothing) next.wanted.assign(next.wanted.size(), true);
    if (any) return next;
    skipped_ += next.block.count;
    done_ += next.block.count;
    waiting_.emplace(next.block.first, std::pair(next.block, Results()));
    write_ready();
  }
  return std::nullopt;
}

void Ledger::deliver(const Assignment& done, Results results) {
  const std::lock_guard lock(mutex_);
  for (Row& row : results.rows) {
    std::string& note = row.estimate.note;
    if (!hint_.empty()) note += (note.empty() ? "" : "; ") + hint_;
  }
  count(results);
  done_ += done.block.count;
  waiting_.emplace(done.block.first, std::pair(done.block, std::move(results)));
  write_ready();
}

void Ledger::set_hint(std::string hint) {
  const std::lock_guard lock(mutex_);
  hint_ = std::move(hint);
}

void Ledger::give_back(Assignment assignment) {
  const std::lock_guard lock(mutex_);
  if (!closed_) given_back_.push_back(std::move(assignment));
}

void Ledger::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  next_ = span_.last;
  given_back_.clear();
}

bool Ledger::complete() const {
  const std::lock_guard lock(mutex_);
  return written_to_ == span_.last;
}

void Ledger::count(const Results& results) {
  bad_.insert(bad_.end(), results.skipped.begin(), results.skipped.end());
  counts_.answered += std::count_if(results.rows.begin(), results.rows.end(), has_answer);
  for (const PointRecord& point : results.points) {
    if (counts_.points++ == 0) counts_.first_class = point.predicted;
    counts_.classes = counts_.classes == 2 || point.predicted != counts_.first_class ? 2 : 1;
    counts_.labelled += point.label ? 1 : 0;
    counts_.correct += point.label && *point.label == point.predicted ? 1 : 0;
  }
}

void Ledger::write_ready() {
  for (auto entry = waiting_.find(written_to_); entry != waiting_.end(); entry = waiting_.find(written_to_)) {
    auto& [block, results] = entry->second;
    written_to_ += block.count;
    if (rules_.hold) {
      append(held_.rows, std::move(results.rows));
      append(held_.points, std::move(results.points));
      append(held_.skipped, std::move(results.skipped));
    } else if (!results.points.empty() || !results.skipped.empty()) {
      write(block, results);
    }
    waiting_.erase(entry);
  }
}

void Ledger::write(const Block& block, const Results& results) {
  destination_.write(block, results);
  counts_.written += std::ssize(results.rows);
}

void Ledger::write_held() {
  const std::lock_guard lock(mutex_);
  if (!held_.rows.empty()) write({model_, span_.first, span_.last - span_.first}, held_);
}

std::vector<SkippedPoint> Ledger::bad() const {
  const std::lock_guard lock(mutex_);
  std::vector<SkippedPoint> points = bad_;
  std::sort(points.begin(), points.end(), [](const SkippedPoint& a, const SkippedPoint& b) { return a.index < b.index; });
  return points;
}

Ledger::Counts Ledger::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace probust::cli
