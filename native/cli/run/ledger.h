// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/run/destination.h"
#include "cli/run/plan.h"

namespace probust::cli {

/// A block to estimate, and which of the plan's questions are asked of it.
struct Assignment {
  Block block;
  std::vector<bool> wanted;
};

/// Gives blocks of one model to whoever estimates them, and takes their results.
class Assignments {
 public:
  virtual ~Assignments() = default;

  /// The next block, of at most `count` points (and within a block of fixed positions); nothing when all are given.
  virtual std::optional<Assignment> next(std::int64_t count) = 0;

  virtual void deliver(const Assignment& done, Results results) = 0;
};

/// What has been asked and answered of one model's points, at positions [first, last) of the data. Blocks that the destination
/// has already are not given. Results may come in any order and from several threads; they are written in the order of the data.
class Ledger final : public Assignments {
 public:
  /// All must outlive this. `hold`: keep all results instead of writing them. `all_or_nothing`: if one question of a block is
  /// asked, all are.
  struct Rules {
    bool hold = false, all_or_nothing = false;
  };
  Ledger(const Plan& plan, std::string model, Span span, Destination& destination, Rules rules);

  std::optional<Assignment> next(std::int64_t count) override;
  void deliver(const Assignment& done, Results results) override;

  /// A text for the note of every row from now on; empty: none.
  void set_hint(std::string hint);

  /// A block that was given is not estimated after all; someone else gets it.
  void give_back(Assignment assignment);

  /// No more blocks are given.
  void close();

  /// Whether all points are written, or held.
  bool complete() const;

  /// The results that were held.
  Results& held() { return held_; }
  void write_held();

  /// Points that need no more work, and those of them that were done before.
  const std::atomic<std::int64_t>& done() const { return done_; }
  std::int64_t skipped() const { return skipped_; }

  /// Of the results so far: rows written, rows that have an answer, points, labelled ones, and those predicted as labelled; the
  /// first class that was predicted, and how many classes were, 2 for more than one.
  struct Counts {
    std::int64_t written = 0, answered = 0, points = 0, labelled = 0, correct = 0;
    std::int64_t first_class = 0, classes = 0;
  };
  Counts counts() const;

  /// The points so far that could not be read, without those of earlier attempts, by position.
  std::vector<SkippedPoint> bad() const;

 private:
  void count(const Results& results);
  void write_ready();
  void write(const Block& block, const Results& results);

  const Plan& plan_;
  std::string model_;
  Span span_;
  Destination& destination_;
  Rules rules_;
  mutable std::mutex mutex_;
  std::int64_t next_, written_to_;  // positions
  std::vector<Assignment> given_back_;
  std::map<std::int64_t, std::pair<Block, Results>> waiting_;  // for earlier blocks, by position; skipped ones without results
  std::string hint_;
  Results held_;
  Counts counts_;
  std::vector<SkippedPoint> bad_;
  std::atomic<std::int64_t> done_{0};
  std::int64_t skipped_ = 0;
  bool closed_ = false;
};

}  // namespace probust::cli
