// SPDX-License-Identifier: MIT
// Probabilities are exact for intervals, and for squares in which no margin changes sign. In other squares, each half is clipped
// to the polygon in which all margins are positive (Sutherland and Hodgman, "Reentrant polygon clipping", CACM 17, 1974). The
// density is integrated over the polygon's triangles with the edge-midpoint rule, which is exact for polynomials of degree two
// (Strang and Fix 1973, table 4.1).
#include "probust/estimators/cells.h"

#include <algorithm>
#include <cmath>

#include "probust/normal/univariate.h"

namespace probust {
namespace {

constexpr double kTail = 8;                                 // a normal variable exceeds this with probability 1e-15
constexpr std::int64_t kMostSteps = std::int64_t{1} << 20;  // most steps over ±8; floats can distinguish their positions

// A vertex of a polygon in the unit triangle (0,0), (1,0), (0,1).
struct Vertex {
  double u, v;
};
using Polygon = std::vector<Vertex>;

// A linear margin on the unit triangle, given by its values at the corners.
struct Plane {
  double origin, at_u, at_v;
  double operator()(const Vertex& x) const { return origin * (1 - x.u - x.v) + at_u * x.u + at_v * x.v; }
};

Vertex between(const Vertex& a, const Vertex& b, double t) { return {a.u + t * (b.u - a.u), a.v + t * (b.v - a.v)}; }

// Sets `part` to the part of a convex polygon in which a margin is positive.
void clip_to(const Polygon& polygon, const Plane& margin, Polygon& part) {
  part.clear();
  for (std::size_t k = 0; k < polygon.size(); ++k) {
    const Vertex &a = polygon[k], &b = polygon[k + 1 == polygon.size() ? 0 : k + 1];
    const double at_a = margin(a), at_b = margin(b);
    if (at_a > 0) part.push_back(a);
    if ((at_a > 0) != (at_b > 0)) part.push_back(between(a, b, at_a / (at_a - at_b)));
  }
}

// Half of a square: the position of its right-angled corner, and the step from there along u and along v.
struct HalfSquare {
  double x, y, step;  // the step is negative in the upper right half
  double density(const Vertex& at) const { return normal::pdf(x + step * at.u) * normal::pdf(y + step * at.v); }
};

// The normal probability of a polygon in half a square.
double polygon_mass(const Polygon& polygon, const HalfSquare& half) {
  double sum = 0;
  for (std::size_t k = 1; k + 1 < polygon.size(); ++k) {
    const Vertex &a = polygon[0], &b = polygon[k], &c = polygon[k + 1];
    const double area = 0.5 * std::fabs((b.u - a.u) * (c.v - a.v) - (c.u - a.u) * (b.v - a.v));
    const double edges = half.density(between(a, b, 0.5)) + half.density(between(b, c, 0.5)) + half.density(between(c, a, 0.5));
    sum += area * edges / 3;
  }
  return sum * half.step * half.step;
}

// Margin r at a corner, plus `sign` times this margin's error.
double shifted(const CornerMargins& margins, std::size_t corner, std::size_t r, double sign) {
  return margins.at[corner][r] + sign * margins.errors[r];
}

double half_mass(const CornerMargins& margins, const std::array<std::size_t, 3>& corners, double sign, const HalfSquare& half) {
  Polygon polygon = {{0, 0}, {1, 0}, {0, 1}}, part;
  for (std::size_t r = 0; r < margins.errors.size() && !polygon.empty(); ++r) {
    const auto at = [&](std::size_t k) { return shifted(margins, corners[k], r, sign); };
    const Plane margin{at(0), at(1), at(2)};
    if (margin.origin > 0 && margin.at_u > 0 && margin.at_v > 0) continue;
    clip_to(polygon, margin, part);
    std::swap(polygon, part);
  }
  return polygon_mass(polygon, half);
}

CellMass square_mass(const NormalCell& cell, const CornerMargins& margins, double sign) {
  const double lower = half_mass(margins, {0, 1, 2}, sign, {cell.x, cell.y, cell.width});
  const double upper = half_mass(margins, {3, 2, 1}, sign, {cell.x + cell.width, cell.y + cell.width, -cell.width});
  const double inside = std::min(cell.mass, lower + upper);
  return {inside, cell.mass - inside};
}

CellMass interval_mass(const NormalCell& cell, const CornerMargins& margins, double sign) {
  double low = 0, high = 1;
  for (std::size_t r = 0; r < margins.errors.size() && high > low; ++r) {
    const double a = shifted(margins, 0, r, sign), b = shifted(margins, 1, r, sign);
    if (a <= 0) low = std::max(low, a / (a - b));
    if (b <= 0) high = std::min(high, a / (a - b));
  }
  if (high <= low) return {0, cell.mass};
  if (low == 0 && high == 1) return {cell.mass, 0};
  const double from = cell.x + low * cell.width, to = cell.x + high * cell.width;
  return {normal::interval(from, to), normal::interval(cell.x, from) + normal::interval(to, cell.x + cell.width)};
}

}  // namespace

NormalAxis::NormalAxis(std::int64_t cells) : cells_(cells) {
  while ((std::int64_t{2} << shift_) * cells_ <= kMostSteps) ++shift_;
  masses_.reserve(static_cast<std::size_t>(cells));
  for (std::int64_t k = 0; k < cells; ++k) masses_.push_back(computed_mass(k << shift_, unit()));
}

double NormalAxis::at(std::int64_t step) const {
  return kTail * (2 * static_cast<double>(step) / static_cast<double>(end()) - 1);
}

double NormalAxis::mass(std::int64_t first, std::int64_t size) const {
  return size == unit() ? masses_[first >> shift_] : computed_mass(first, size);
}

double NormalAxis::computed_mass(std::int64_t first, std::int64_t size) const {
  if (first == 0) return normal::cdf(at(size));
  return first + size == end() ? normal::complement(at(first)) : normal::interval(at(first), at(first + size));
}

int side(const CornerMargins& margins, double sign) {
  bool all = true;
  for (std::size_t r = 0; r < margins.errors.size(); ++r) {
    std::int64_t positive = 0;
    for (std::int64_t corner = 0; corner < margins.corners; ++corner)
      positive += shifted(margins, static_cast<std::size_t>(corner), r, sign) > 0 ? 1 : 0;
    if (positive == 0) return -1;
    all = all && positive == margins.corners;
  }
  return all ? 1 : 0;
}

CellMass mass_of(const NormalCell& cell, const CornerMargins& margins, double sign) {
  const int where = side(margins, sign);
  if (where > 0) return {cell.mass, 0};
  if (where < 0) return {0, cell.mass};
  return cell.dimensions == 1 ? interval_mass(cell, margins, sign) : square_mass(cell, margins, sign);
}

}  // namespace probust
