// SPDX-License-Identifier: MIT
//
// Owen, "Tables for computing bivariate normal probabilities", Ann. Math. Statist. 27 (1956), section 2: a polygon's probability
// is a sum over its sides. The probability of the region beyond a side, as seen from the origin, is a difference of two bivariate
// probabilities. The sides are found by intersecting half-planes in the order of their angles (Preparata and Shamos,
// "Computational Geometry", 1985, section 7.2).
#include "probust/normal/polygon.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "probust/normal/bivariate.h"
#include "probust/normal/univariate.h"

namespace probust::normal {
namespace {

using Eigen::Vector2d;

/// The half-plane normal . y <= limit.
struct Face {
  Vector2d normal;
  double limit, angle;
};

double cross(const Vector2d& a, const Vector2d& b) { return a.x() * b.y() - a.y() * b.x(); }

Vector2d corner(const Face& a, const Face& b) {
  const double determinant = cross(a.normal, b.normal);
  return {(a.limit * b.normal.y() - b.limit * a.normal.y()) / determinant,
          (b.limit * a.normal.x() - a.limit * b.normal.x()) / determinant};
}

bool inside(const Vector2d& point, const Face& face) { return face.normal.dot(point) < face.limit; }

/// Whether two directions are so close that they count as equal: their intersection would be dominated by rounding, and p does
/// not depend on which of the two faces is kept.
bool same_direction(const Face& a, const Face& b) {
  constexpr double kParallel = 4.0 * std::numeric_limits<double>::epsilon();
  return std::abs(cross(a.normal, b.normal)) <= kParallel && a.normal.dot(b.normal) > 0.0;
}

/// The faces sorted by angle, with only the nearest one in each direction, plus the sides of a box outside which the probability
/// is 0.
std::span<Face> by_angle(std::span<const double> z, const Eigen::Ref<const Eigen::MatrixXd>& N, Arena& arena) {
  // kLeast: limits of zero would put a corner at the origin, where it has no direction.
  constexpr double kBeyond = 39.0, kLeast = 1e-200;
  const std::span<Face> faces = arena.take<Face>(z.size() + 4);
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double limit = std::abs(z[i]) < kLeast ? kLeast : std::clamp(z[i], -2.0 * kBeyond, 2.0 * kBeyond);
    faces[i] = {Vector2d(N(i, 0), N(i, 1)).normalized(), limit, std::atan2(N(i, 1), N(i, 0))};
  }
  const double turn = 0.5 * std::numbers::pi;
  const Vector2d axes[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  for (int k = 0; k < 4; ++k) faces[z.size() + k] = {axes[k], kBeyond, k < 3 ? k * turn : -turn};
  std::sort(faces.begin(), faces.end(), [](const Face& a, const Face& b) { return a.angle < b.angle; });
  std::size_t kept = 0;
  for (const Face& face : faces) {
    if (kept == 0 || !same_direction(faces[kept - 1], face)) {
      faces[kept++] = face;
    } else if (face.limit < faces[kept - 1].limit) {
      faces[kept - 1] = face;
    }
  }
  if (kept > 1 && same_direction(faces[kept - 1], faces[0])) {  // the same direction at both ends, +-pi
    if (faces[kept - 1].limit < faces[0].limit) faces[0] = faces[kept - 1];
    --kept;
  }
  return faces.first(kept);
}

/// The faces that are sides of the polygon, in order. Fewer than three if the polygon is empty. Overwrites `faces`.
std::span<Face> sides(std::span<Face> faces) {
  std::size_t first = 0, last = 0;  // [first, last) are sides so far
  const auto cut_back = [&](const Face& face) {
    while (last - first >= 2 && !inside(corner(faces[last - 2], faces[last - 1]), face)) --last;
  };
  for (const Face& face : faces) {  // sides are stored at the front, never beyond this face
    cut_back(face);
    while (last - first >= 2 && !inside(corner(faces[first], faces[first + 1]), face)) ++first;
    if (last > first && cross(faces[last - 1].normal, face.normal) <= 0.0) return {};  // half a turn or more: empty polygon
    faces[last++] = face;
  }
  if (last - first >= 2) cut_back(faces[first]);
  while (last - first >= 3 && !inside(corner(faces[first], faces[first + 1]), faces[last - 1])) ++first;
  return last - first >= 3 ? faces.subspan(first, last - first) : std::span<Face>();
}

/// The probability beyond a side at distance `height`, clockwise of the ray from the origin to a corner at `place` along the
/// side: P(Y_1 > height, Y_2 height < Y_1 place). The corner can be seen as that of two perpendicular sides, and the probability
/// beyond both sides is known. Computing with the farther side is more accurate, because its sine is smaller.
double behind(double height, double place) {
  const double distance = std::hypot(height, place), far = std::abs(place);
  if (far <= height) return bivariate_upper(height, 0.0, place / distance);
  const double rest = complement(far) - complement(height) * complement(far) - bivariate_upper(far, 0.0, height / distance);
  return place > 0.0 ? complement(height) + rest : -rest;
}

}  // namespace

Integral polygon(std::span<const double> z, const Eigen::Ref<const Eigen::MatrixXd>& N, Arena& arena) {
  const Arena::Scope scope(arena);
  const std::span<Face> polygon = sides(by_angle(z, N, arena));
  Integral total;
  if (polygon.empty()) {
    total.q = 1.0;
    return total;
  }
  const std::size_t n = polygon.size();
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  double beyond = 0.0, rounding = 0.0;  // probability beyond each side, within the sector of the side seen from the origin
  bool around_origin = true;
  Vector2d from = corner(polygon[n - 1], polygon[0]);
  for (std::size_t k = 0; k < n; ++k) {
    const Face& side = polygon[k];
    const Vector2d to = corner(side, polygon[(k + 1) % n]), along(-side.normal.y(), side.normal.x());
    const double height = std::abs(side.limit), left = behind(height, along.dot(to)), right = behind(height, along.dot(from));
    const double part = left - right;
    rounding += 8.0 * kEpsilon * (left + right);
    beyond += side.limit < 0.0 ? -part : part;
    around_origin = around_origin && side.limit >= 0.0;
    from = to;
    total.points += 2;
  }
  // The sectors add up to a full turn if the origin is inside, and to zero otherwise.
  total.p = around_origin ? 1.0 - beyond : -beyond;
  total.q = around_origin ? beyond : 1.0 + beyond;
  total.error_p = total.error_q = rounding;
  return total;
}

}  // namespace probust::normal
