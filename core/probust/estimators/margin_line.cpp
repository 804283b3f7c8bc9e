// SPDX-License-Identifier: MIT
#include "probust/estimators/margin_line.h"

#include <algorithm>
#include <cmath>

#include "probust/normal/univariate.h"

namespace probust {
namespace {

// An interval in which the target survives at both ends may hide failures, with a weight that falls with the distance of the
// smallest margin from zero, in units of the largest change of a margin over the interval.
constexpr double kDistance = 4;

// The shares of the doubts that the half-width of the 95% interval of p contains, for intervals at whose ends the target
// survives and fails, and for others. They were chosen so that intervals cover p on six networks (docs/estimators.md).
constexpr double kShareIfChanging = 0.3, kShareIfNot = 0.5;

// Margins beyond the outer nodes were not seen at all, so at least this share of a tail is in doubt.
constexpr double kLeastTail = 0.02;

// Nodes beyond the outer ones are this far away, up to kFarthest.
constexpr double kStep = 1.25, kFarthest = 7;

// The share of an interval in which the smallest margin, at least `least` at its ends, may come to zero.
double share_in_doubt(double least, double change) { return change > 0 ? std::exp(-kDistance * least / change) : 0; }

// The weighted harmonic mean of two secants; zero if they differ in sign.
double harmonic(double before, double after, double h_before, double h_after) {
  if (before * after <= 0) return 0;
  const double w1 = 2 * h_after + h_before, w2 = h_after + 2 * h_before;
  return (w1 + w2) / (w1 / before + w2 / after);
}

// The slope at an end of the grid by three points, limited so that the cubic stays monotone.
double at_end(double h0, double h1, double d0, double d1) {
  const double slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
  if (slope * d0 <= 0) return 0;
  if (d0 * d1 <= 0 && std::fabs(slope) > 3 * std::fabs(d0)) return 3 * d0;
  return slope;
}

}  // namespace

void MarginLine::add(double t, std::vector<float> margins) {
  const auto place = std::lower_bound(t_.begin(), t_.end(), t) - t_.begin();
  t_.insert(t_.begin() + place, t);
  margins_.insert(margins_.begin() + place, std::move(margins));
}

double MarginLine::smallest(std::size_t node) const { return *std::min_element(margins_[node].begin(), margins_[node].end()); }

double MarginLine::largest_change(std::size_t left) const {
  double largest = 0;
  for (std::size_t r = 0; r < margins_[left].size(); ++r)
    largest = std::max(largest, std::fabs(double{margins_[left + 1][r]} - double{margins_[left][r]}));
  return largest;
}

double MarginLine::slope(std::size_t node, std::size_t rival) const {
  const auto secant = [&](std::size_t k) {
    return (double{margins_[k + 1][rival]} - double{margins_[k][rival]}) / (t_[k + 1] - t_[k]);
  };
  const auto width = [&](std::size_t k) { return t_[k + 1] - t_[k]; };
  const std::size_t last = t_.size() - 1;
  if (last == 1) return secant(0);
  if (node == 0) return at_end(width(0), width(1), secant(0), secant(1));
  if (node == last) return at_end(width(last - 1), width(last - 2), secant(last - 1), secant(last - 2));
  return harmonic(secant(node - 1), secant(node), width(node - 1), width(node));
}

// Where the margin over a rival changes sign between two nodes, by bisection.
double MarginLine::crossing(std::size_t left, std::size_t rival) const {
  const double a = t_[left], h = t_[left + 1] - a, from = margins_[left][rival], to = margins_[left + 1][rival];
  const double d0 = h * slope(left, rival), d1 = h * slope(left + 1, rival);
  double low = 0, high = 1;
  for (int k = 0; k < 50; ++k) {
    const double s = (low + high) / 2, u = 1 - s;
    const double value = u * u * ((1 + 2 * s) * from + s * d0) + s * s * ((1 + 2 * u) * to - u * d1);
    ((value > 0) == (from > 0) ? low : high) = s;
  }
  return a + h * (low + high) / 2;
}

// The probability, within the interval to the right of a node, that the target survives or that it fails.
double MarginLine::inside(std::size_t left, bool survivors) const {
  double low = t_[left], high = t_[left + 1];
  const double whole = normal::interval(low, high);
  for (std::size_t r = 0; r < margins_[left].size(); ++r) {
    const bool before = margins_[left][r] > 0, after = margins_[left + 1][r] > 0;
    if (!before && !after) return survivors ? 0 : whole;
    if (before && after) continue;
    const double at = crossing(left, r);
    (before ? high : low) = before ? std::min(high, at) : std::max(low, at);
  }
  if (survivors) return low < high ? normal::interval(low, high) : 0;
  return low < high ? normal::interval(t_[left], low) + normal::interval(high, t_[left + 1]) : whole;
}

std::vector<MarginLine::Interval> MarginLine::intervals() const {
  std::vector<Interval> all;
  const std::size_t last = t_.size() - 1;
  // A tail is in doubt like an interval of the same width as its neighbour.
  const auto tail = [&](std::size_t node, std::size_t neighbour, int side) {
    const double mass = normal::complement(side * t_[node]);
    const double near = share_in_doubt(std::fabs(smallest(node)), largest_change(neighbour));
    all.push_back({node, side, mass, mass * std::max(near, kLeastTail), false});
  };
  tail(0, 0, -1);
  for (std::size_t k = 0; k < last; ++k) {
    const double a = smallest(k), b = smallest(k + 1), mass = normal::interval(t_[k], t_[k + 1]);
    const bool changes = (a > 0) != (b > 0);
    const double share = changes ? 1 : share_in_doubt(std::min(std::fabs(a), std::fabs(b)), largest_change(k));
    all.push_back({k, 0, mass, mass * share, changes});
  }
  tail(last, last - 1, 1);
  return all;
}

MarginLine::Next MarginLine::next_node() const {
  constexpr double kLeast = 0.2;  // nodes stay this share of an interval away from its ends
  std::vector<Interval> all = intervals();
  std::erase_if(all, [&](const Interval& each) { return each.tail != 0 && std::fabs(t_[each.left]) >= kFarthest; });
  const Interval& chosen =
      *std::max_element(all.begin(), all.end(), [](const Interval& a, const Interval& b) { return a.doubt < b.doubt; });
  const std::size_t left = chosen.left;
  if (chosen.tail != 0) return {t_[left] + chosen.tail * kStep, chosen.doubt};
  const double a = smallest(left), b = smallest(left + 1);
  const double share = chosen.changes && std::isfinite(a - b) ? std::clamp(a / (a - b), kLeast, 1 - kLeast) : 0.5;
  return {t_[left] + share * (t_[left + 1] - t_[left]), chosen.doubt};
}

Estimate MarginLine::estimate() const {
  double survives = 0, fails = 0, half = 0;
  for (const Interval& interval : intervals()) {
    if (interval.tail != 0) {
      (smallest(interval.left) > 0 ? survives : fails) += interval.mass;
    } else {
      survives += inside(interval.left, true);
      fails += inside(interval.left, false);
    }
    half += (interval.changes ? kShareIfChanging : kShareIfNot) * interval.doubt;
  }
  Estimate estimate;
  estimate.p = survives < fails ? survives : 1 - fails;
  estimate.p_fail = survives < fails ? 1 - survives : fails;
  estimate.std_error = half / 1.96;
  estimate.ci_low = std::max(0.0, estimate.p - half);
  estimate.ci_high = std::min(1.0, estimate.p + half);
  return estimate;
}

}  // namespace probust
