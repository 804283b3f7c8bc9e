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

/// A block to estimate, and whether each question in the plan is still open for this block.
struct Assignment {
  Block block;
  std::vector<bool> wanted;
};

/// Assigns the blocks of one model and accepts their results.
class Assignments {
 public:
  virtual ~Assignments() = default;

  /// The next block, which has at most `count` points and does not cross a multiple of kBlock in the data. Empty when all
  /// blocks have been assigned.
  virtual std::optional<Assignment> next(std::int64_t count) = 0;

  virtual void deliver(const Assignment& done, Results results) = 0;
};

/// Tracks which points of one model, at the positions `span` of the data, have been assigned, finished and written. Blocks that
/// the destination already has are not assigned. Results may arrive in any order and from several threads; they are written in
/// the order of the data.
class Ledger final : public Assignments {
 public:
  /// `hold`: keeps all results in memory instead of writing them. `all_or_nothing`: if one question is still open for a block,
  /// all its questions are answered again. `plan` and `destination` must outlive this object.
  struct Rules {
    bool hold = false, all_or_nothing = false;
  };
  Ledger(const Plan& plan, std::string model, Span span, Destination& destination, Rules rules);

  std::optional<Assignment> next(std::int64_t count) override;
  void deliver(const Assignment& done, Results results) override;

  /// Sets a text that is added to the note of every row from now on; an empty text adds nothing.
  void set_hint(std::string hint);

  /// Returns a block that was assigned but will not be estimated, so that it is assigned again.
  void give_back(Assignment assignment);

  /// Stops assigning blocks.
  void close();

  /// Whether the results of all points have been written or, with `hold`, kept.
  bool complete() const;

  /// The results that were held.
  Results& held() { return held_; }
  void write_held();

  /// done: the number of finished points. skipped: how many of them earlier attempts had finished.
  const std::atomic<std::int64_t>& done() const { return done_; }
  std::int64_t skipped() const { return skipped_; }

  /// Statistics of the results so far: the numbers of written rows, of rows with p, of points, of labelled points, and of
  /// points whose prediction is their label; the first predicted class, and the number of predicted classes (2 stands for more
  /// than one).
  struct Counts {
    std::int64_t written = 0, answered = 0, points = 0, labelled = 0, correct = 0;
    std::int64_t first_class = 0, classes = 0;
  };
  Counts counts() const;

  /// The points that could not be read in this attempt, ordered by position.
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
  std::int64_t next_, written_to_;  // positions up to which points have been assigned and written
  std::vector<Assignment> given_back_;
  std::map<std::int64_t, std::pair<Block, Results>> waiting_;  // by position: finished blocks that wait for earlier ones
  std::string hint_;
  Results held_;
  Counts counts_;
  std::vector<SkippedPoint> bad_;
  std::atomic<std::int64_t> done_{0};
  std::int64_t skipped_ = 0;
  bool closed_ = false;
};

}  // namespace probust::cli
