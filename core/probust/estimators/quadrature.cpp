// SPDX-License-Identifier: MIT
// quadrature:N, for noise that is a function of one or two standard normals w. Evaluates the margins at the nodes of a grid of
// N cells per side, interpolates them linearly on each half of a cell, and returns the normal probability of the region where
// all are positive. It uses no random numbers. The error is that of linear interpolation, O(h²) if margins are smooth. It is
// then about a third of the difference to the grid of half the resolution (Richardson, Phil. Trans. R. Soc. A 226, 1927), which
// determines the status. The error in the note is the whole difference, or a quarter of the difference between two coarser
// grids if that is larger.
//
// Such differences do not bound the error if margins are very steep or jump, as those of trees and of inputs rounded to levels
// do: such a margin may change sign anywhere in a cell. The whole probability of the cells in which a margin jumps is added to
// the error.
//
// A cell without a sign change has its exact probability. In the others, each half is clipped to the polygon where the margins
// are positive (Sutherland and Hodgman, "Reentrant polygon clipping", CACM 17, 1974). The density is integrated over the
// polygon's triangles with the edge-midpoint rule, exact for polynomials of degree two (Strang and Fix 1973, table 4.1).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "probust/estimators/common.h"
#include "probust/estimators/statistics/pair_statistics.h"
#include "probust/normal/univariate.h"
#include "probust/ops/append.h"

namespace probust {
namespace {

constexpr double kTail = 8;                           // a normal variable exceeds this with probability 1e-15
constexpr std::int64_t kMostCells = 4096;             // per side
constexpr double kAbsolute = 1e-4, kRelative = 1e-2;  // tolerances of p and of p_fail, as in normal/multivariate.h

struct Sides {
  double p = 0, p_fail = 0;
  double unresolved = 0;  // probability of the cells in which a margin jumps
};

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

// The part of a convex polygon in which a margin is positive.
Polygon clipped(const Polygon& polygon, const Plane& margin) {
  Polygon part;
  part.reserve(polygon.size() + 1);
  for (std::size_t k = 0; k < polygon.size(); ++k) {
    const Vertex &a = polygon[k], &b = polygon[(k + 1) % polygon.size()];
    const double at_a = margin(a), at_b = margin(b);
    if (at_a > 0) part.push_back(a);
    if ((at_a > 0) != (at_b > 0)) part.push_back(between(a, b, at_a / (at_a - at_b)));
  }
  return part;
}

// Nodes along one axis, with the probability of each cell. The first and last cell extend to infinity.
class Axis {
 public:
  explicit Axis(std::int64_t cells) : cells_(cells) {
    mass_.reserve(static_cast<std::size_t>(cells));
    for (std::int64_t k = 0; k < cells; ++k) {
      const double low = k == 0 ? -INFINITY : node(k), high = k + 1 == cells ? INFINITY : node(k + 1);
      mass_.push_back(std::isinf(high)  ? normal::complement(low)
                      : std::isinf(low) ? normal::cdf(high)
                                        : normal::interval(low, high));
    }
  }

  std::int64_t cells() const { return cells_; }
  double width() const { return 2 * kTail / static_cast<double>(cells_); }
  double node(std::int64_t k) const { return kTail * (2 * static_cast<double>(k) / static_cast<double>(cells_) - 1); }
  double mass(std::int64_t k) const { return mass_[k]; }

 private:
  std::int64_t cells_;
  std::vector<double> mass_;
};

// Half of a cell: its right-angled corner, and the step from there along u and v.
struct Half {
  double x, y, step;  // negative in the upper right half
  double density(const Vertex& at) const { return normal::pdf(x + step * at.u) * normal::pdf(y + step * at.v); }
};

// The normal probability of a polygon in half a cell.
double mass_of(const Polygon& polygon, const Half& half) {
  double sum = 0;
  for (std::size_t k = 1; k + 1 < polygon.size(); ++k) {
    const Vertex &a = polygon[0], &b = polygon[k], &c = polygon[k + 1];
    const double area = 0.5 * std::fabs((b.u - a.u) * (c.v - a.v) - (c.u - a.u) * (b.v - a.v));
    const double edges = half.density(between(a, b, 0.5)) + half.density(between(b, c, 0.5)) + half.density(between(c, a, 0.5));
    sum += area * edges / 3;
  }
  return sum * half.step * half.step;
}

// The margins at the nodes of a grid in one or two dimensions. Every second node (stride 2) gives the grid of half the
// resolution.
class Grid {
 public:
  Grid(std::int64_t nodes, std::int64_t rivals) : nodes_(nodes), rivals_(rivals) {}

  void append(std::span<const float> logits, std::int64_t target) {
    for (std::int64_t row = 0; row < rivals_; ++row) margins_.push_back(margin(logits, target, rival_of(row, target)));
  }

  void reserve(std::int64_t nodes) { margins_.reserve(static_cast<std::size_t>(nodes * rivals_)); }

  Sides on_a_line(std::int64_t stride) const {
    const Axis axis((nodes_ - 1) / stride);
    Sides sides;
    for (std::int64_t k = 0; k < axis.cells(); ++k) add_interval(axis, k, stride, sides);
    return sides;
  }

  Sides in_the_plane(std::int64_t stride) const {
    const Axis axis((nodes_ - 1) / stride);
    Sides sides;
    for (std::int64_t j = 0; j < axis.cells(); ++j) {
      for (std::int64_t i = 0; i < axis.cells(); ++i) add_cell(axis, i, j, stride, sides);
    }
    return sides;
  }

 private:
  // The margin as a finite number, so that it can be interpolated. NaN becomes the lowest number, because the target does not
  // survive.
  static float margin(std::span<const float> logits, std::int64_t target, std::int64_t rival) {
    const float difference = logits[target] - logits[rival];
    if (std::isnan(difference)) return -std::numeric_limits<float>::max();
    if (difference == 0 && rival > target) return std::numeric_limits<float>::min();  // the lower index wins a tie
    return std::clamp(difference, -std::numeric_limits<float>::max(), std::numeric_limits<float>::max());
  }

  const float* at(std::int64_t i, std::int64_t j) const { return margins_.data() + (j * nodes_ + i) * rivals_; }

  // Whether a margin jumps between two neighbouring nodes: it changes sign, and by much more than between the nodes on either
  // side. `back` and `on` say whether those nodes exist.
  bool jumps(const float* from, std::int64_t step, bool back, bool on) const {
    constexpr double kMuch = 1.5;
    for (std::int64_t r = 0; r < rivals_; ++r, ++from) {
      const double a = from[0], b = from[step];
      if ((a > 0) == (b > 0)) continue;
      const double before = back ? std::fabs(a - from[-step]) : 0, after = on ? std::fabs(from[2 * step] - b) : 0;
      if (std::fabs(b - a) > kMuch * std::max(before, after)) return true;
    }
    return false;
  }

  bool jumps_along_x(std::int64_t i, std::int64_t j, std::int64_t stride) const {
    return jumps(at(i, j), stride * rivals_, i >= stride, i + 2 * stride < nodes_);
  }
  bool jumps_along_y(std::int64_t i, std::int64_t j, std::int64_t stride) const {
    return jumps(at(i, j), stride * nodes_ * rivals_, j >= stride, j + 2 * stride < nodes_);
  }
  bool jumps_in_cell(std::int64_t i, std::int64_t j, std::int64_t stride) const {
    return jumps_along_x(i, j, stride) || jumps_along_x(i, j + stride, stride) || jumps_along_y(i, j, stride) ||
           jumps_along_y(i + stride, j, stride);
  }

  // 1 if every margin is positive at all corners, -1 if some margin is positive at no corner, otherwise 0.
  template <std::size_t Corners>
  int side(const std::array<const float*, Corners>& corners) const {
    bool all = true;
    for (std::int64_t r = 0; r < rivals_; ++r) {
      std::size_t positive = 0;
      for (const float* corner : corners) positive += corner[r] > 0 ? 1 : 0;
      if (positive == 0) return -1;
      all = all && positive == Corners;
    }
    return all ? 1 : 0;
  }

  void add_interval(const Axis& axis, std::int64_t k, std::int64_t stride, Sides& sides) const {
    const std::array<const float*, 2> ends = {at(k * stride, 0), at((k + 1) * stride, 0)};
    double low = 0, high = side(ends) < 0 ? 0 : 1;
    for (std::int64_t r = 0; r < rivals_ && high > low; ++r) {
      const double a = ends[0][r], b = ends[1][r];
      if (a <= 0) low = std::max(low, a / (a - b));
      if (b <= 0) high = std::min(high, a / (a - b));
    }
    high = std::max(low, high);
    const double from = axis.node(k) + low * axis.width(), to = axis.node(k) + high * axis.width();
    const bool whole = low == 0 && high == 1;
    const double mass = whole ? axis.mass(k) : normal::interval(from, to);
    sides.p += mass;
    if (!whole) sides.p_fail += high <= low ? axis.mass(k) : rest(axis, k, from, to);
    if (side(ends) == 0 && jumps_along_x(k * stride, 0, stride)) sides.unresolved += axis.mass(k);
  }

  // The probability of the parts of a cut cell outside the surviving interval.
  static double rest(const Axis& axis, std::int64_t k, double from, double to) {
    return normal::interval(axis.node(k), from) + normal::interval(to, axis.node(k + 1));
  }

  void add_cell(const Axis& axis, std::int64_t i, std::int64_t j, std::int64_t stride, Sides& sides) const {
    const std::array<const float*, 4> corners = {at(i * stride, j * stride), at((i + 1) * stride, j * stride),
                                                 at(i * stride, (j + 1) * stride), at((i + 1) * stride, (j + 1) * stride)};
    const double mass = axis.mass(i) * axis.mass(j);
    const int sign = side(corners);
    const double inside = sign > 0   ? mass
                          : sign < 0 ? 0
                                     : std::min(mass, cut_mass(corners, axis.node(i), axis.node(j), axis.width()));
    sides.p += inside;
    sides.p_fail += mass - inside;
    if (sign == 0 && jumps_in_cell(i * stride, j * stride, stride)) sides.unresolved += mass;
  }

  // The two halves of a cell meet along the diagonal from (1,0) to (0,1).
  double cut_mass(const std::array<const float*, 4>& corners, double x, double y, double width) const {
    const double lower = half_mass({corners[0], corners[1], corners[2]}, {x, y, width});
    return lower + half_mass({corners[3], corners[2], corners[1]}, {x + width, y + width, -width});
  }

  double half_mass(const std::array<const float*, 3>& corners, const Half& half) const {
    Polygon polygon = {{0, 0}, {1, 0}, {0, 1}};
    for (std::int64_t r = 0; r < rivals_ && !polygon.empty(); ++r)
      polygon = clipped(polygon, {corners[0][r], corners[1][r], corners[2][r]});
    return mass_of(polygon, half);
  }

  std::int64_t nodes_, rivals_;
  std::vector<float> margins_;  // [nodes (, nodes), rivals]
};

// Noisy samples of a point for given standard normals.
Tensor moved(const Points& point, const Noise& noise, const Eigen::MatrixXf& w) {
  const Eigen::Index lanes = w.rows(), elements = point.x.size();
  const Eigen::Map<const Eigen::RowVectorXf> at(point.x.data.data(), elements);
  Eigen::MatrixXf noisy = at.replicate(lanes, 1);  // by columns: [elements][lanes]
  const std::vector<std::uint32_t> index(static_cast<std::size_t>(lanes), static_cast<std::uint32_t>(point.index[0]));
  noise.shape->add_normals(index, elements, static_cast<float>(noise.scale), w.data(), noisy.data());
  Shape shape = point.x.shape;
  shape[0] = lanes;
  Tensor x(shape);
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Rows>(x.data.data(), lanes, elements) = noisy;
  return x;
}

// The margins of each of the `targets` at all nodes, one line of nodes after the other.
std::vector<Grid> margins_on_grid(Executor& executor, const Points& point, const Noise& noise, std::int64_t cells,
                                  std::int64_t dimensions, const std::vector<std::int64_t>& targets) {
  const Axis axis(cells);
  const std::int64_t nodes = cells + 1, lines = dimensions == 2 ? nodes : 1;
  std::vector<Grid> grids(targets.size(), Grid(nodes, executor.classes() - 1));
  for (Grid& grid : grids) grid.reserve(nodes * lines);
  Eigen::MatrixXf w(nodes, dimensions);
  for (std::int64_t i = 0; i < nodes; ++i) w(i, 0) = static_cast<float>(axis.node(i));
  for (std::int64_t j = 0; j < lines; ++j) {
    if (dimensions == 2) w.col(1).setConstant(static_cast<float>(axis.node(j)));
    const Tensor logits = executor.logits(moved(point, noise, w)).value();
    for (std::size_t k = 0; k < targets.size(); ++k) {
      for (std::int64_t i = 0; i < nodes; ++i) grids[k].append(logits.row(i), targets[k]);
    }
  }
  return grids;
}

Estimate integrated(const Grid& grid, std::int64_t cells, std::int64_t dimensions) {
  Estimate estimate;
  const auto at = [&](std::int64_t stride) { return dimensions == 2 ? grid.in_the_plane(stride) : grid.on_a_line(stride); };
  const Sides fine = at(1), coarse = at(2);
  double difference = std::fabs(fine.p_fail - coarse.p_fail);
  if (cells % 4 == 0) difference = std::max(difference, std::fabs(coarse.p_fail - at(4).p_fail) / 4);
  const double error = difference / 3 + fine.unresolved;
  // The smaller of the two sums is more accurate.
  estimate.p = fine.p < fine.p_fail ? fine.p : 1 - fine.p_fail;
  estimate.p_fail = fine.p < fine.p_fail ? 1 - fine.p : fine.p_fail;
  estimate.forwards = dimensions == 2 ? (cells + 1) * (cells + 1) : cells + 1;
  if (error > kAbsolute || error > kRelative * estimate.p_fail + 1e-12)
    estimate.set(Status::inexact, "known to about " + short_text(difference + fine.unresolved));
  return estimate;
}

Estimate on_grid(Executor& executor, const Points& point, const Noise& noise, std::int64_t cells, std::int64_t dimensions) {
  std::vector<std::int64_t> targets = {point.target[0]};
  if (const std::int64_t label = other_label(point, 0); label >= 0) targets.push_back(label);
  const std::vector<Grid> grids = margins_on_grid(executor, point, noise, cells, dimensions, targets);
  Estimate estimate = integrated(grids[0], cells, dimensions);
  if (grids.size() > 1) estimate.set_label(integrated(grids[1], cells, dimensions));
  return estimate;
}

std::int64_t dimensions_of(const Points& points, const Noise& noise) {
  const std::int64_t elements = points.x.size() / std::max<std::int64_t>(1, points.size());
  const std::int64_t normals = noise.shape->normals(elements).value_or(0);
  if (normals == 1 || normals == 2) return normals;
  throw Error{ErrorCode::usage, "quadrature",
              normals == 0 ? "needs noise that is a function of normal variables"
                           : "needs noise that depends on one or two normal variables, not on " + std::to_string(normals),
              "use mc:N for " + noise.shape->name()};
}

}  // namespace

std::vector<Estimate> estimate_quadrature(Evaluation& evaluation, const Noise& noise, const EstimatorSpec& asked) {
  const std::int64_t count = asked.samples;
  if (count % 2 != 0 || count > kMostCells)
    throw Error{ErrorCode::usage, "quadrature", "cannot have " + std::to_string(count) + " cells per side",
                "give an even number up to " + std::to_string(kMostCells)};
  const std::int64_t dimensions = dimensions_of(evaluation.points(), noise), rivals = evaluation.executor().classes() - 1;
  const std::int64_t nodes = dimensions == 2 ? (count + 1) * (count + 1) : count + 1;
  (void)points_at_once(evaluation.executor(),
                       static_cast<std::int64_t>(sizeof(float)) * nodes * std::max<std::int64_t>(1, rivals));
  std::vector<Estimate> estimates;
  estimates.reserve(static_cast<std::size_t>(evaluation.points().size()));
  for (std::int64_t i = 0; i < evaluation.points().size(); ++i)
    estimates.push_back(on_grid(evaluation.executor(), slice(evaluation.points(), i, 1), noise, count, dimensions));
  return estimates;
}

}  // namespace probust
