// SPDX-License-Identifier: MIT
#include "probust/regions/boxes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace probust {
namespace {

constexpr std::int32_t kMissing = -1;  // the cell of a NaN

}  // namespace

MarginBounds::MarginBounds(const StepModel& model, std::int64_t target)
    : rivals_(model.classes - 1), bounds_(model.nodes.size() * 2 * static_cast<std::size_t>(rivals_)) {
  const auto rival = [&](std::int64_t row) { return row < target ? row : row + 1; };
  for (std::int64_t r = 0; r < rivals_; ++r) base_.push_back(double{model.base[target]} - double{model.base[rival(r)]});
  for (std::size_t n = model.nodes.size(); n-- > 0;) {
    const StepNode& node = model.nodes[n];
    float *least = bounds_.data() + n * 2 * rivals_, *largest = least + rivals_;
    const float* own = model.contributions.data() + std::int64_t{node.leaf} * model.classes;
    const float *a = this->least(node.below), *b = this->least(node.above);
    for (std::int64_t r = 0; r < rivals_; ++r) {
      if (node.element < 0) {
        least[r] = largest[r] = own[target] - own[rival(r)];
      } else {
        least[r] = std::min(a[r], b[r]);
        largest[r] = std::max(a[rivals_ + r], b[rivals_ + r]);
      }
    }
  }
}

Boxes::Boxes(const StepModel& model, const MarginBounds& bounds, std::span<const float> x)
    : model_(model), bounds_(bounds), x_(x.begin(), x.end()), active_(model.cuts.size(), -1) {
  for (std::size_t e = 0; e < model.cuts.size(); ++e) {
    if (model.cuts[e].empty()) continue;
    active_[e] = static_cast<std::int32_t>(elements_.size());
    elements_.push_back(static_cast<std::int32_t>(e));
  }
  stride_ = std::max<std::int64_t>(1, std::ssize(model.roots) + 2 * std::ssize(elements_));
}

std::int64_t Boxes::bytes_of_box(const StepModel& model) {
  return 8 * (std::ssize(model.roots) + 2 * std::ssize(model.cuts) + 4 * model.classes) + 128;
}

std::int64_t Boxes::take() {
  if (!free_.empty()) {
    const std::int64_t box = free_.back();
    free_.pop_back();
    return box;
  }
  const std::int64_t box = std::ssize(states_) / stride_;
  states_.resize(states_.size() + static_cast<std::size_t>(stride_));
  margins_.resize(margins_.size() + 2 * static_cast<std::size_t>(bounds_.rivals()));
  return box;
}

std::int64_t Boxes::all() {
  const std::int64_t box = take();
  std::copy(model_.roots.begin(), model_.roots.end(), state(box));
  std::int32_t* ranges = state(box) + model_.roots.size();
  for (const std::int32_t e : elements_) {
    const bool missing = std::isnan(x_[e]);
    *ranges++ = missing ? kMissing : 0;
    *ranges++ = missing ? kMissing : static_cast<std::int32_t>(model_.cuts[e].size());
  }
  double* sums = margins(box);
  for (std::int64_t r = 0; r < bounds_.rivals(); ++r) {
    sums[r] = sums[bounds_.rivals() + r] = bounds_.base(r);
    for (const std::int32_t root : model_.roots) {
      sums[r] += double{bounds_.least(root)[r]};
      sums[bounds_.rivals() + r] += double{bounds_.largest(root)[r]};
    }
  }
  for (std::size_t tree = 0; tree < model_.roots.size(); ++tree) advance(box, tree);
  return box;
}

std::int64_t Boxes::part(std::int64_t box, const Division& division, bool is_below) {
  const std::int64_t own = take();
  std::copy_n(state(box), stride_, state(own));
  std::copy_n(margins(box), 2 * bounds_.rivals(), margins(own));
  const std::int32_t* nodes = state(own);
  std::int32_t* range = state(own) + model_.roots.size() + 2 * division.active;
  (is_below ? range[1] : range[0]) = is_below ? division.cut : division.cut + 1;
  for (std::size_t tree = 0; tree < model_.roots.size(); ++tree) {
    if (model_.nodes[nodes[tree]].element == elements_[division.active]) advance(own, tree);
  }
  return own;
}

// Whether all points of a box answer a question in the same way, and how.
bool Boxes::answers(const StepNode& node, const std::int32_t* ranges, bool& is_below) const {
  const std::int32_t* range = ranges + 2 * active_[node.element];
  is_below = range[0] == kMissing ? node.missing_is_below : range[1] <= node.cut;
  return is_below || range[0] == kMissing || range[0] > node.cut;
}

// Moves a tree to the first node whose question the box does not answer.
void Boxes::advance(std::int64_t box, std::size_t tree) {
  std::int32_t* nodes = state(box);
  const std::int32_t *ranges = nodes + model_.roots.size(), from = nodes[tree];
  bool is_below = false;
  std::int32_t at = from;
  while (model_.nodes[at].element >= 0 && answers(model_.nodes[at], ranges, is_below))
    at = is_below ? model_.nodes[at].below : model_.nodes[at].above;
  if (at == from) return;
  nodes[tree] = at;
  double* sums = margins(box);
  const float *old = bounds_.least(from), *now = bounds_.least(at);
  for (std::int64_t k = 0; k < 2 * bounds_.rivals(); ++k) sums[k] += double{now[k]} - double{old[k]};
}

std::int64_t Boxes::decisive_rival(std::int64_t box) const {
  const double *least = margins(box), *largest = least + bounds_.rivals();
  std::int64_t decisive = 0;
  for (std::int64_t r = 1; r < bounds_.rivals(); ++r) {
    if (least[r] + largest[r] < least[decisive] + largest[decisive]) decisive = r;
  }
  return decisive;
}

Verdict Boxes::verdict(std::int64_t box) const {
  const double *least = margins(box), *largest = least + bounds_.rivals();
  bool wins = true;
  for (std::int64_t r = 0; r < bounds_.rivals(); ++r) {
    if (largest[r] < -model_.rounding) return Verdict::failed;
    wins = wins && least[r] > model_.rounding;
  }
  if (wins) return Verdict::kept;
  const std::int32_t* nodes = state(box);
  const bool divisible =
      std::any_of(nodes, nodes + model_.roots.size(), [&](std::int32_t node) { return model_.nodes[node].element >= 0; });
  return divisible ? Verdict::open : Verdict::tie;
}

// x, with the elements outside the box replaced by choose(low, high), either of which may be null.
template <class Choose>
std::vector<float> Boxes::point_in(std::int64_t box, const Choose& choose) const {
  std::vector<float> point = x_;
  for (std::int32_t k = 0; k < std::ssize(elements_); ++k) {
    const std::span<const Cut> own = cuts(k);
    const auto [first, last] = cells(box, k);
    if (first == kMissing) continue;
    const Cut* low = first > 0 ? &own[first - 1] : nullptr;
    const Cut* high = last < std::ssize(own) ? &own[last] : nullptr;
    float& value = point[elements_[k]];
    if ((low != nullptr && low->has_below(value)) || (high != nullptr && !high->has_below(value)))
      value = choose(value, low, high);
  }
  return point;
}

std::vector<float> Boxes::inside(std::int64_t box) const {
  return point_in(box, [](float, const Cut* low, const Cut* high) {
    if (low != nullptr && high != nullptr) return static_cast<float>((low->at + high->at) / 2);
    return static_cast<float>(low != nullptr ? low->at + 1 + std::fabs(low->at) : high->at - 1 - std::fabs(high->at));
  });
}

std::vector<float> Boxes::nearest(std::int64_t box) const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return point_in(box, [](float value, const Cut* low, const Cut* high) {
    const bool up = low != nullptr && low->has_below(value);
    const Cut& cut = up ? *low : *high;
    auto edge = static_cast<float>(cut.at);
    while (cut.has_below(edge) == up) edge = std::nextafter(edge, up ? kInfinity : -kInfinity);
    return edge;
  });
}

}  // namespace probust
