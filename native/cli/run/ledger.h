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

/// A block to estimate, and which of the plan's questions are needed for it.
struct Assignment {
  Block block;
  std::vector<bool> wanted;
};

/// Hands out blocks of one model, and takes their results.
class Assignments {
 public:
  virtual ~Assignments() = default;

  /// The next block, of at most `count` points (and within a block of fixed positions); empty when all are handed out.
  virtual std::optional<Assignment> next(std::int64_t count) = 0;

  virtual void deliver(const Assignment& done, Results results) = 0;
};

/// The state of one model's points, at positions [first, last) of the data. Blocks that the destination already has are not
/// handed out. Results may come in any order and from several threads; they are written in the order of the data.
class Ledger final : public Assignments {
 public:
  /// All must outlive this. `hold`: keep all results instead of writing them. `all_or_nothing`: if one question of a block is
  /// needed, all are.
  struct Rules {
    bool hold = false, all_or_nothing = false;
  };
  Ledger(const Plan& plan, std::string model, Span span, Destination& destination, Rules rules);

  std::optional<Assignment> next(std::int64_t count) override;
  void deliver(const Assignment& done, Results results) override;

  /// A text for the note of every row from now on; empty: none.
  void set_hint(std::string hint);

  /// Returns a block that is not estimated after all; another rank gets it.
  void give_back(Assignment assignment);

  /// Hands out no more blocks.
  void close();

  /// Whether all points are written, or held.
  bool complete() const;

  /// The results that were held.
  Results& held() { return held_; }
  void write_held();

  /// The number of finished points, and how many of them were finished before.
  const std::atomic<std::int64_t>& done() const { return done_; }
  std::int64_t skipped() const { return skipped_; }

  /// Statistics of the results so far: rows written, rows that have p, points, labelled ones, and those predicted as labelled;
  /// the first predicted class, and the number of predicted classes, 2 for more than one.
  struct Counts {
    std::int64_t written = 0, answered = 0, points = 0, labelled = 0, correct = 0;
    std::int64_t first_class = 0, classes = 0;
  };
  Counts counts() const;

  /// The unreadable points so far, without those of earlier attempts, by position.
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
