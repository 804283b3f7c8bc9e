// SPDX-License-Identifier: MIT
//
// Gauss-Legendre rules, and an adaptive integral of a probability and its complement together.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>

namespace probust::normal {

/// The N-point Gauss-Legendre rule on [-1, 1].
template <int N>
struct GaussLegendre {
  std::array<double, N> node, weight;

  GaussLegendre() {
    for (int i = 0; i < N; ++i) {
      double x = std::cos(std::numbers::pi * (i + 0.75) / (N + 0.5)), slope = 1.0;
      for (int round = 0; round < 8; ++round) x -= legendre(x, slope) / slope;
      legendre(x, slope);
      node[i] = x;
      weight[i] = 2.0 / ((1.0 - x * x) * slope * slope);
    }
  }

  static const GaussLegendre& rule() {
    static const GaussLegendre instance;
    return instance;
  }

 private:
  /// The Legendre polynomial of degree N, and its slope.
  static double legendre(double x, double& slope) {
    double before = 1.0, value = x;
    for (int k = 2; k <= N; ++k) {
      const double next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
      before = value;
      value = next;
    }
    slope = N * (x * value - before) / (x * x - 1.0);
    return value;
  }
};

/// A probability and its complement, or the contributions to both from part of a range; `points` counts integrand evaluations.
struct Integral {
  double p = 0.0, q = 0.0;
  double error_p = 0.0, error_q = 0.0;
  std::int64_t points = 0;
};

/// The ends of panels, in ascending order.
class Breaks {
 public:
  static constexpr int kMost = 256;

  /// Breaks beyond kMost are ignored, so callers add the most important ones first.
  void add(double x) {
    if (count_ < kMost) at_[count_++] = x;
  }
  void sort() { std::sort(at_.begin(), at_.begin() + count_); }
  int size() const { return count_; }
  double operator[](int i) const { return at_[i]; }
  double back() const { return at_[count_ - 1]; }
  std::span<const double> all() const { return {at_.data(), static_cast<std::size_t>(count_)}; }

 private:
  std::array<double, kMost> at_;
  int count_ = 0;
};

/// Integrates `f(x)`, which returns members p and q, over the panels between consecutive `breaks`. A panel is halved while the
/// result for the panel differs from that for its two halves by more than 1e-13 in p, or by more than 1e-13 of the total in q (at
/// least `q_floor`). At most about `most` panels are examined, because rounding in f may prevent agreement.
template <class F>
Integral integrate(const F& f, const Breaks& breaks, double q_floor, int most = 4000) {
  constexpr int kPoints = 16;
  struct Panel {
    double a, b, p, q;
  };
  Integral total;
  const auto& rule = GaussLegendre<kPoints>::rule();
  const auto measure = [&](double a, double b) {
    Panel panel{a, b, 0.0, 0.0};
    const double middle = 0.5 * (a + b), half = 0.5 * (b - a);
    for (int i = 0; i < kPoints; ++i) {
      const auto value = f(middle + half * rule.node[i]);
      panel.p += rule.weight[i] * half * value.p;
      panel.q += rule.weight[i] * half * value.q;
    }
    total.points += kPoints;
    return panel;
  };
  // The last panel is halved first, so the stack grows by at most one panel per halving of a panel.
  constexpr int kHalvings = 64;
  std::array<Panel, Breaks::kMost + kHalvings> open;
  int count = 0;
  double q_scale = q_floor;
  for (int i = 0; i + 1 < breaks.size(); ++i) {
    if (!(breaks[i] < breaks[i + 1])) continue;
    open[count++] = measure(breaks[i], breaks[i + 1]);
    q_scale += open[count - 1].q;
  }
  for (int panels = 0; count > 0; ++panels) {
    const Panel whole = open[--count];
    const double middle = 0.5 * (whole.a + whole.b);
    const Panel left = measure(whole.a, middle), right = measure(middle, whole.b);
    const double gap_p = std::abs(left.p + right.p - whole.p), gap_q = std::abs(left.q + right.q - whole.q);
    const bool narrow = !(whole.a < middle && middle < whole.b) || whole.b - whole.a < 1e-14 * (1.0 + std::abs(middle));
    if ((gap_p <= 1e-13 && gap_q <= 1e-13 * q_scale) || narrow || panels > most || count + 2 > static_cast<int>(open.size())) {
      total.p += left.p + right.p;
      total.q += left.q + right.q;
      total.error_p += gap_p;
      total.error_q += gap_q;
    } else {
      open[count++] = left;
      open[count++] = right;
    }
  }
  return total;
}

/// Panels for an integral against the normal density over (-inf, upper]: each a few units wide, with breaks at the `marks`, where
/// the integrand turns sharply. There are no panels in regions that contain less than 1e-18 of the whole or of `floor`, whichever
/// is larger.
Breaks density_panels(double upper, double floor, std::span<const double> marks = {});

}  // namespace probust::normal
