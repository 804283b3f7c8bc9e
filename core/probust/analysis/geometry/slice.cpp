// SPDX-License-Identifier: MIT
#include "probust/analysis/geometry/slice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "probust/analysis/geometry/jacobian.h"

namespace probust {
namespace {

using Eigen::VectorXd;

VectorXd vector_of(const std::vector<double>& values) {
  return Eigen::Map<const VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

bool normalize(VectorXd& v) {
  const double length = v.norm();
  if (!(length > 0) || !std::isfinite(length)) return false;
  v /= length;
  return true;
}

// Removes the component of `v` along the unit vector `u`; false if nothing remains.
bool make_orthogonal(VectorXd& v, const VectorXd& u) {
  const double before = v.norm();
  for (int twice = 0; twice < 2; ++twice) v -= u.dot(v) * u;
  return v.norm() > 1e-9 * before && normalize(v);
}

void require_point(const Executor& executor, const Points& points, std::int64_t i) {
  check(executor, points);
  if (i < 0 || i >= points.size() || executor.classes() < 2)
    throw Error{ErrorCode::usage, "the slice",
                "needs the point with index " + std::to_string(i) + " and two classes, but there are " +
                    std::to_string(points.size()) + " points and " + std::to_string(executor.classes()) + " classes",
                "give an index of one of the points, and a model with at least two classes"};
}

// The margin over the strongest rival. The minimum of all margins would not work: if two logits are -inf, their difference is
// NaN.
double smallest_margin(std::span<const float> logits, std::int64_t target) {
  if (argmax(logits) < 0) return std::numeric_limits<double>::quiet_NaN();
  float rival = -std::numeric_limits<float>::infinity();
  for (std::size_t c = 0; c < logits.size(); ++c) {
    if (static_cast<std::int64_t>(c) != target) rival = std::max(rival, logits[c]);
  }
  return static_cast<double>(logits[target]) - rival;
}

// Classes other than the target, the largest logit first.
std::vector<std::int64_t> rivals_of(std::span<const float> logits, std::int64_t target) {
  std::vector<std::int64_t> rivals;
  rivals.reserve(logits.size());
  for (std::int64_t c = 0; c < static_cast<std::int64_t>(logits.size()); ++c) {
    if (c != target) rivals.push_back(c);
  }
  std::stable_sort(rivals.begin(), rivals.end(), [&](std::int64_t a, std::int64_t b) { return logits[a] > logits[b]; });
  return rivals;
}

}  // namespace

SlicePlane orthonormal(const SlicePlane& plane) {
  VectorXd u = vector_of(plane.u), v = vector_of(plane.v);
  if (u.size() != v.size() || u.size() == 0 || !normalize(u) || !make_orthogonal(v, u))
    throw Error{ErrorCode::usage, "the slice", "has directions that are zero, parallel or of different lengths",
                "give two independent directions"};
  return {{u.begin(), u.end()}, {v.begin(), v.end()}, plane.reach, plane.resolution};
}

Result<SlicePlane> margin_plane(Executor& executor, const Points& points, std::int64_t i, double reach, std::int64_t resolution) {
  return guarded("margin_plane", [&] {
    require_point(executor, points, i);
    const Tensor x = rows(points.x, i, 1), logits = executor.logits(x).value();
    if (argmax(logits.row(0)) < 0)
      throw Error{ErrorCode::numerical, "the slice", "has NaN logits at its centre", "choose another point"};
    const LogitJacobian J = jacobian_at(executor, x);
    VectorXd u, v;
    const auto take = [&](VectorXd direction) {
      if (u.size() == 0) {
        if (normalize(direction)) u = direction;
      } else if (make_orthogonal(direction, u)) {
        v = direction;
      }
    };
    for (const std::int64_t rival : rivals_of(logits.row(0), points.target[i])) {
      if (v.size() == 0) take(margin_gradient(J, points.target[i], rival));
    }
    for (Eigen::Index e = 0; e < J.cols() && v.size() == 0; ++e) take(VectorXd::Unit(J.cols(), e));
    if (v.size() == 0)
      throw Error{ErrorCode::usage, "the slice", "needs an input of at least two elements, not " + std::to_string(x.size()), ""};
    return SlicePlane{{u.begin(), u.end()}, {v.begin(), v.end()}, reach, resolution};
  });
}

Result<Slice> decision_slice(Executor& executor, const Points& points, std::int64_t i, const SlicePlane& plane) {
  return guarded("decision_slice", [&] {
    constexpr std::int64_t kMostResolution = 4096;
    require_point(executor, points, i);
    const auto x = points.x.row(i);
    if (plane.u.size() != x.size() || plane.v.size() != x.size())
      throw Error{ErrorCode::usage, "the slice", "has directions of " + std::to_string(plane.u.size()) + " elements",
                  "give directions of " + std::to_string(x.size()) + " elements, like the points"};
    if (plane.resolution < 2 || !(plane.reach > 0) || !std::isfinite(plane.reach) ||
        !std::isfinite(vector_of(plane.u).squaredNorm() + vector_of(plane.v).squaredNorm()))
      throw Error{ErrorCode::usage, "the slice", "needs finite directions, a positive reach and at least two points per side",
                  ""};
    if (plane.resolution > kMostResolution)
      throw Error{ErrorCode::resources, "the slice", "cannot have " + std::to_string(plane.resolution) + " points per side",
                  "give at most 4096"};
    const std::int64_t n = plane.resolution;
    Slice slice{n, std::vector<std::int64_t>(static_cast<std::size_t>(n * n)),
                std::vector<double>(static_cast<std::size_t>(n * n))};
    const auto coordinate = [&](std::int64_t k) {
      return plane.reach * (2.0 * static_cast<double>(k) / static_cast<double>(n - 1) - 1.0);
    };
    Shape shape = points.x.shape;
    shape[0] = n;
    Tensor row(shape);
    for (std::int64_t r = 0; r < n; ++r) {
      for (std::int64_t c = 0; c < n; ++c) {
        const auto at = row.row(c);
        for (std::size_t e = 0; e < x.size(); ++e) {
          at[e] = static_cast<float>(x[e] + coordinate(c) * plane.u[e] + coordinate(r) * plane.v[e]);
        }
      }
      const Tensor logits = executor.logits(row).value();
      for (std::int64_t c = 0; c < n; ++c) {
        slice.predicted[r * n + c] = argmax(logits.row(c));
        slice.margin[r * n + c] = smallest_margin(logits.row(c), points.target[i]);
      }
    }
    return slice;
  });
}

}  // namespace probust
