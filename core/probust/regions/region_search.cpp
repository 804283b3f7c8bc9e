// SPDX-License-Identifier: MIT
#include "probust/regions/region_search.h"

#include <algorithm>

namespace probust {
namespace {

// Codes of parts that are not divided.
constexpr std::int32_t kOpen = -1, kKept = -2, kFailed = -3;
constexpr std::int32_t kNoSplit = -1;
constexpr double kNegligible = 1e-12;

}  // namespace

RegionSearch::RegionSearch(const StepModel& model, const MarginBounds& bounds, std::span<const float> x,
                           std::vector<ElementMass> masses)
    : model_(model), masses_(std::move(masses)), boxes_(model, bounds, x), root_(kOpen) {
  place({1, boxes_.all(), kNoSplit, true});
}

void RegionSearch::mark(std::int32_t split, bool is_below, std::int32_t code) {
  if (split == kNoSplit) {
    root_ = code;
  } else {
    (is_below ? splits_[split].below : splits_[split].above) = code;
  }
}

// Decides a box or adds it to the open ones.
void RegionSearch::place(const Box& box) {
  switch (boxes_.verdict(box.number)) {
    case Verdict::open:
      open_ += box.mass;
      heap_.push_back(box);
      std::push_heap(heap_.begin(), heap_.end());
      return;
    case Verdict::tie:
      ties_.push_back({box.mass, boxes_.inside(box.number), box.split, box.is_below});
      break;
    case Verdict::kept:
      kept_ += box.mass;
      mark(box.split, box.is_below, kKept);
      break;
    case Verdict::failed:
      failed_ += box.mass;
      mark(box.split, box.is_below, kFailed);
      break;
  }
  boxes_.remove(box.number);
}

void RegionSearch::add_part(const Box& box, const Division& division, bool is_below, std::int32_t split) {
  ElementMass& mass = masses_[division.active];
  const auto [first, last] = boxes_.cells(box.number, division.active);
  const double before = mass.of(first, last), own = is_below ? mass.of(first, division.cut) : mass.of(division.cut + 1, last);
  if (own > 0) place({box.mass * (own / before), boxes_.part(box.number, division, is_below), split, is_below});
}

// Divides the most probable box, at the question that makes the largest difference to the decision, times the probability of
// the smaller part.
void RegionSearch::divide_largest() {
  std::pop_heap(heap_.begin(), heap_.end());
  const Box box = heap_.back();
  heap_.pop_back();
  open_ -= box.mass;
  const Division division = boxes_.best_division(box.number, [&](const Division& own) {
    const auto [first, last] = boxes_.cells(box.number, own.active);
    ElementMass& mass = masses_[own.active];
    return std::min(mass.of(first, own.cut), mass.of(own.cut + 1, last)) / mass.of(first, last);
  });
  const auto split = static_cast<std::int32_t>(splits_.size());
  splits_.push_back({boxes_.elements()[division.active], division.cut, kOpen, kOpen});
  mark(box.split, box.is_below, split);
  add_part(box, division, true, split);
  add_part(box, division, false, split);
  boxes_.remove(box.number);
}

// Whether the open boxes do not matter. Their sum is computed again, because subtractions lose its last digits.
bool RegionSearch::finished() {
  open_ = 0;
  for (const Box& box : heap_) open_ += box.mass;
  return heap_.empty() || open_ <= kNegligible * std::min(kept_, failed_);
}

void RegionSearch::divide(std::int64_t divisions, const StopToken* stop) {
  constexpr std::int64_t kOften = 256;
  while (this->divisions() < divisions) {
    const bool often = this->divisions() % kOften == 0;
    if (often) stop_if_asked(stop);
    if ((often || heap_.empty() || open_ <= kNegligible * std::min(kept_, failed_)) && finished()) return;
    divide_largest();
  }
  (void)finished();
}

void RegionSearch::settle(const Tie& tie, bool kept) {
  (kept ? kept_ : failed_) += tie.mass;
  mark(tie.split, tie.is_below, kept ? kKept : kFailed);
}

Verdict RegionSearch::verdict_at(std::span<const float> sample) const {
  std::int32_t at = root_;
  while (at >= 0) {
    const Split& split = splits_[at];
    at = model_.cuts[split.element][split.cut].has_below(double{sample[split.element]}) ? split.below : split.above;
  }
  return at == kKept ? Verdict::kept : at == kFailed ? Verdict::failed : Verdict::open;
}

}  // namespace probust
