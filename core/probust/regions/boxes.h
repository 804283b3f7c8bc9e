// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probust/regions/step_model.h"

namespace probust {

/// The least and largest contribution of every node's leaves to the margins of one target.
class MarginBounds {
 public:
  MarginBounds(const StepModel& model, std::int64_t target);

  std::int64_t rivals() const { return rivals_; }
  const float* least(std::int32_t node) const { return bounds_.data() + std::int64_t{node} * 2 * rivals_; }
  const float* largest(std::int32_t node) const { return least(node) + rivals_; }
  /// The margin of the target over a rival before any tree.
  double base(std::int64_t rival) const { return base_[static_cast<std::size_t>(rival)]; }

 private:
  std::int64_t rivals_;
  std::vector<float> bounds_;  // [nodes][2][rivals]
  std::vector<double> base_;
};

/// A question that divides a box: the position of its element among the elements with cuts, and the cut.
struct Division {
  std::int32_t active = -1, cut = 0;
};

/// What is known about the decision in a box. `tie`: every tree has one leaf, but a margin may be a rounding error, so the
/// classifier itself must decide.
enum class Verdict : std::uint8_t { kept, failed, open, tie };

/// Boxes around a point x, each with the part of every tree that its points can reach. A box has a number.
class Boxes {
 public:
  /// x may have NaN: such an element is missing in all boxes.
  Boxes(const StepModel& model, const MarginBounds& bounds, std::span<const float> x);

  /// Bytes of one box.
  static std::int64_t bytes_of_box(const StepModel& model);

  /// A box with all points.
  std::int64_t all();
  /// The part of a box below or above a cut.
  std::int64_t part(std::int64_t box, const Division& division, bool is_below);
  void remove(std::int64_t box) { free_.push_back(box); }

  Verdict verdict(std::int64_t box) const;
  /// A point in the box, which has the coordinates of x where they are in the box.
  std::vector<float> inside(std::int64_t box) const;

  /// The float32 point of the box that is nearest to x.
  std::vector<float> nearest(std::int64_t box) const;

  const std::vector<std::int32_t>& elements() const { return elements_; }  ///< those with cuts
  std::span<const Cut> cuts(std::int32_t active) const { return model_.cuts[elements_[active]]; }
  /// The first and last cell of a box along an element.
  std::pair<std::int32_t, std::int32_t> cells(std::int64_t box, std::int32_t active) const {
    const std::int32_t* range = state(box) + model_.roots.size() + 2 * active;
    return {range[0], range[1]};
  }

  /// The division with the highest score, the product of `score(division)` and the difference that the question makes to the
  /// margin of the rival that may win most easily.
  template <class Score>
  Division best_division(std::int64_t box, const Score& score) const {
    const std::int32_t* nodes = state(box);
    const std::int64_t rival = decisive_rival(box);
    Division best;
    double highest = -1;
    for (std::size_t tree = 0; tree < model_.roots.size(); ++tree) {
      const StepNode& node = model_.nodes[nodes[tree]];
      if (node.element < 0) continue;
      const Division own{active_[node.element], node.cut};
      const double spread = double{bounds_.largest(nodes[tree])[rival]} - double{bounds_.least(nodes[tree])[rival]};
      const double value = spread * score(own);
      if (value > highest) {
        highest = value;
        best = own;
      }
    }
    return best;
  }

 private:
  std::int32_t* state(std::int64_t box) { return states_.data() + box * stride_; }
  const std::int32_t* state(std::int64_t box) const { return states_.data() + box * stride_; }
  double* margins(std::int64_t box) { return margins_.data() + box * 2 * bounds_.rivals(); }
  const double* margins(std::int64_t box) const { return margins_.data() + box * 2 * bounds_.rivals(); }
  std::int64_t take();
  std::int64_t decisive_rival(std::int64_t box) const;
  template <class Choose>
  std::vector<float> point_in(std::int64_t box, const Choose& choose) const;
  bool answers(const StepNode& node, const std::int32_t* ranges, bool& is_below) const;
  void advance(std::int64_t box, std::size_t tree);

  const StepModel& model_;
  const MarginBounds& bounds_;
  std::vector<float> x_;
  std::vector<std::int32_t> active_;    // [elements] position among the elements with cuts; -1: none
  std::vector<std::int32_t> elements_;  // [active]
  std::int64_t stride_;
  std::vector<std::int32_t> states_;  // [boxes][trees + 2 active]: a node for each tree, then the first and last cells
  std::vector<double> margins_;       // [boxes][2][rivals]: the least and largest margins
  std::vector<std::int64_t> free_;
};

}  // namespace probust
