// SPDX-License-Identifier: MIT
#include "probust/regions/nearest_region.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace probust {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class NearestSearch {
 public:
  NearestSearch(const StepModel& model, const MarginBounds& bounds, std::span<const float> x, std::span<const double> unit,
                const std::function<bool(const std::vector<float>&)>& keeps)
      : x_(x), unit_(unit), keeps_(keeps), boxes_(model, bounds, x) {
    place({0, boxes_.all()});
  }

  NearestRegion run(std::int64_t divisions, const StopToken* stop) {
    for (std::int64_t done = 0; !heap_.empty() && bound() < best_; ++done) {
      constexpr std::int64_t kOften = 256;
      if (done % kOften == 0) stop_if_asked(stop);
      if (done == divisions) break;
      divide_nearest();
    }
    NearestRegion result{{}, std::sqrt(std::min(bound(), best_))};
    if (best_ < kInfinity) result.found = LosingRegion{std::sqrt(best_), boxes_.nearest(losing_), boxes_.inside(losing_)};
    return result;
  }

 private:
  struct Box {
    double squared;
    std::int64_t number;
    bool operator<(const Box& other) const { return squared > other.squared; }  // the nearest one is on top of the heap
  };

  double bound() const { return heap_.empty() ? kInfinity : heap_.front().squared; }

  // The squared distance of x from the cells first .. last of an element.
  double gap(std::int32_t active, std::int32_t first, std::int32_t last) const {
    const std::span<const Cut> cuts = boxes_.cuts(active);
    const std::int32_t element = boxes_.elements()[active];
    const double x = x_[element];
    const bool below = first > 0 && cuts[first - 1].has_below(x), above = last < std::ssize(cuts) && !cuts[last].has_below(x);
    if (!below && !above) return 0;
    const double length = below ? cuts[first - 1].at - x : x - cuts[last].at;
    return unit_[element] > 0 ? std::pow(length / unit_[element], 2) : kInfinity;
  }

  void place(const Box& box) {
    if (box.squared < best_) {
      Verdict verdict = boxes_.verdict(box.number);
      if (verdict == Verdict::tie) verdict = keeps_(boxes_.inside(box.number)) ? Verdict::kept : Verdict::failed;
      if (verdict == Verdict::open) {
        heap_.push_back(box);
        std::push_heap(heap_.begin(), heap_.end());
        return;
      }
      if (verdict == Verdict::failed) {
        best_ = box.squared;
        losing_ = box.number;
        return;
      }
    }
    boxes_.remove(box.number);
  }

  void divide_nearest() {
    std::pop_heap(heap_.begin(), heap_.end());
    const Box box = heap_.back();
    heap_.pop_back();
    const Division division = boxes_.best_division(box.number, [](const Division&) { return 1.0; });
    const auto [first, last] = boxes_.cells(box.number, division.active);
    const double others = box.squared - gap(division.active, first, last);
    for (const bool is_below : {true, false}) {
      const double own = is_below ? gap(division.active, first, division.cut) : gap(division.active, division.cut + 1, last);
      if (others + own < best_) place({std::max(0.0, others) + own, boxes_.part(box.number, division, is_below)});
    }
    boxes_.remove(box.number);
  }

  std::span<const float> x_;
  std::span<const double> unit_;
  const std::function<bool(const std::vector<float>&)>& keeps_;
  Boxes boxes_;
  std::vector<Box> heap_;
  double best_ = kInfinity;   // squared distance of the nearest losing box
  std::int64_t losing_ = -1;  // its number
};

}  // namespace

NearestRegion nearest_region(const StepModel& model, const MarginBounds& bounds, std::span<const float> x,
                             std::span<const double> unit, std::int64_t divisions,
                             const std::function<bool(const std::vector<float>&)>& keeps, const StopToken* stop) {
  return NearestSearch(model, bounds, x, unit, keeps).run(divisions, stop);
}

}  // namespace probust
