// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/base/stop.h"
#include "probust/regions/boxes.h"
#include "probust/regions/element_mass.h"

namespace probust {

/// Divides the space around a point into boxes until a model of decision trees decides each box. Boxes with the most probability
/// are divided first, so the search can end at any time: the probability of the rest is then known.
class RegionSearch {
 public:
  /// A box that the classifier itself must decide.
  struct Tie {
    double mass;
    std::vector<float> x;  ///< a point in the box
    std::int32_t split;    ///< the division of which the box is a part; -1: the box has all points
    bool is_below;         ///< which part
  };

  /// `masses` has one entry for each element with cuts, in order.
  RegionSearch(const StepModel& model, const MarginBounds& bounds, std::span<const float> x, std::vector<ElementMass> masses);

  /// Divides boxes until there were `divisions` divisions, or the open boxes have a share of at most 1e-12 of both outcomes.
  void divide(std::int64_t divisions, const StopToken* stop);

  double kept() const { return kept_; }      ///< the probability of the boxes in which the target wins
  double failed() const { return failed_; }  ///< of those in which another class wins
  double open() const { return open_; }      ///< of those that are not decided, without ties
  std::int64_t divisions() const { return std::ssize(splits_); }
  const std::vector<Tie>& ties() const { return ties_; }
  void settle(const Tie& tie, bool kept);

  /// What is known about the box of a sample: kept, failed or open.
  Verdict verdict_at(std::span<const float> sample) const;

 private:
  struct Box {
    double mass;
    std::int64_t number;
    std::int32_t split;  // the division of which it is a part
    bool is_below;
    bool operator<(const Box& other) const { return mass < other.mass; }
  };
  struct Split {
    std::int32_t element, cut;
    std::int32_t below, above;  // another division, or a code
  };

  bool finished();
  void divide_largest();
  void add_part(const Box& box, const Division& division, bool is_below, std::int32_t split);
  void place(const Box& box);
  void mark(std::int32_t split, bool is_below, std::int32_t code);

  const StepModel& model_;
  std::vector<ElementMass> masses_;
  Boxes boxes_;
  std::vector<Box> heap_;
  std::vector<Split> splits_;
  std::vector<Tie> ties_;
  std::int32_t root_;
  double kept_ = 0, failed_ = 0, open_ = 0;
};

}  // namespace probust
