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

/// A block to estimate, and the questions of the plan that are needed for it.
struct Assignment {
  Block block;
  std::vector<bool> wanted;
};

/// Assigns blocks of one model and accepts their results.
class Assignments {
 public:
  virtual ~Assignments() = default;

  /// The next block of at most `count` points, within a block of fixed positions; empty when all are assigned.
  virtual std::optional<Assignment> next(std::int64_t count) = 0;

  virtual void deliver(const Assignment& done, Results results) = 0;
};

/// The state of one model's points, at positions [first, last) of the data. Blocks that the destination already has are not
/// assigned. Results may come in any order and from several threads; they are written in the order of the data.
class Ledger final : public Assignments {
 public:
  /// All arguments must outlive this object. `hold`: keep all results in memory instead of writing them. `all_or_nothing`: if
  /// one question of a block is needed, all are.
  struct Rules {
    bool hold = false, all_or_nothing = false;
  };
  Ledger(const Plan& plan, std::string model, Span span, Destination& destination, Rules rules);

  std::optional<Assignment> next(std::int64_t count) override;
  void deliver(const Assignment& done, Results results) override;

  /// Sets a text for the note of every row from now on; empty: none.
  void set_hint(std::string hint);

  /// Takes back a block that will not be estimated, so that another rank gets it.
  void give_back(Assignment assignment);

  /// Assigns no more blocks.
  void close();

  /// Whether all points are written, or held.
  bool complete() const;

  /// The results that were held.
  Results& held() { return held_; }
  void write_held();

  /// The number of finished points, and the number that were finished by earlier attempts.
  const std::atomic<std::int64_t>& done() const { return done_; }
  std::int64_t skipped() const { return skipped_; }

  /// Statistics of the results so far: written rows, rows with p, points, labelled points, and points predicted as labelled;
  /// the first predicted class, and the number of predicted classes (2 stands for more than one).
  struct Counts {
    std::int64_t written = 0, answered = 0, points = 0, labelled = 0, correct = 0;
    std::int64_t first_class = 0, classes = 0;
  };
  Counts counts() const;

  /// The points that could not be read, by position, without those of earlier attempts.
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
  std::map<std::int64_t, std::pair<Block, Results>> waiting_;  // by position; wait for earlier blocks; empty if skipped
  std::string hint_;
  Results held_;
  Counts counts_;
  std::vector<SkippedPoint> bad_;
  std::atomic<std::int64_t> done_{0};
  std::int64_t skipped_ = 0;
  bool closed_ = false;
};

}  // namespace probust::cli
