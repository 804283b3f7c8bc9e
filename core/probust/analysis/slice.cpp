// SPDX-License-Identifier: MIT
#include "probust/analysis/slice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace probust {
namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

bool normalize(std::vector<double>& v) {
  const double length = std::sqrt(dot(v, v));
  if (!(length > 0) || !std::isfinite(length)) return false;
  for (double& x : v) x /= length;
  return true;
}

// Takes away what `v` has of the unit vector `u`; false where nothing is left.
bool make_orthogonal(std::vector<double>& v, const std::vector<double>& u) {
  const double before = std::sqrt(dot(v, v));
  for (int twice = 0; twice < 2; ++twice) {
    const double along = dot(u, v);
    for (std::size_t e = 0; e < v.size(); ++e) v[e] -= along * u[e];
  }
  return std::sqrt(dot(v, v)) > 1e-9 * before && normalize(v);
}

void require_point(const Executor& executor, const Points& points, std::int64_t i) {
  check(executor, points);
  if (i < 0 || i >= points.size() || executor.classes() < 2)
    throw Error{ErrorCode::usage, "slice", "there is no point " + std::to_string(i) + ", or only one class", ""};
}

double smallest_margin(std::span<const float> logits, std::int64_t target) {
  double rival = -std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < logits.size(); ++c) {
    if (static_cast<std::int64_t>(c) != target) {
      if (std::isnan(logits[c])) return std::numeric_limits<double>::quiet_NaN();
      rival = std::max(rival, static_cast<double>(logits[c]));
    }
  }
  return static_cast<double>(logits[target]) - rival;
}

}  // namespace

SlicePlane orthonormal(SlicePlane plane) {
  if (plane.u.size() != plane.v.size() || plane.u.empty() || !normalize(plane.u) || !make_orthogonal(plane.v, plane.u))
    throw Error{ErrorCode::usage, "slice", "its directions are zero, parallel or of different length",
                "give two independent ones"};
  return plane;
}

Result<SlicePlane> margin_plane(Executor& executor, const Points& points, std::int64_t i, double reach, std::int64_t resolution) {
  return guarded("margin_plane", [&] {
    require_point(executor, points, i);
    Shape shape = points.x.shape;
    shape[0] = 1;
    const Tensor x(shape, std::vector<float>(points.x.row(i).begin(), points.x.row(i).end()));
    const Tensor logits = executor.logits(x).value();
    if (argmax(logits.row(0)) < 0)
      throw Error{ErrorCode::numerical, "slice", "logits at the point are NaN", "choose another point"};
    const std::int64_t target = points.target[i];
    const std::size_t d = x.data.size();
    std::vector<float> jacobian;
    executor.jacobian(x, [&](std::int64_t, std::span<const float> J) { jacobian.assign(J.begin(), J.end()); }).value();

    std::vector<std::int64_t> rivals;
    for (std::int64_t c = 0; c < executor.classes(); ++c) {
      if (c != target) rivals.push_back(c);
    }
    std::stable_sort(rivals.begin(), rivals.end(),
                     [&](std::int64_t a, std::int64_t b) { return logits.data[a] > logits.data[b]; });
    SlicePlane plane{{}, {}, reach, resolution};
    const auto gradient = [&](std::int64_t rival) {
      std::vector<double> g(d);
      for (std::size_t e = 0; e < d; ++e) g[e] = static_cast<double>(jacobian[target * d + e]) - jacobian[rival * d + e];
      return g;
    };
    for (const std::int64_t rival : rivals) {
      std::vector<double> g = gradient(rival);
      if (plane.u.empty()) {
        if (normalize(g)) plane.u = g;
      } else if (make_orthogonal(g, plane.u)) {
        plane.v = g;
        break;
      }
    }
    for (std::size_t e = 0; e < d && (plane.u.empty() || plane.v.empty()); ++e) {
      std::vector<double> axis(d, 0.0);
      axis[e] = 1;
      if (plane.u.empty()) {
        plane.u = axis;
      } else if (make_orthogonal(axis, plane.u)) {
        plane.v = axis;
      }
    }
    if (plane.v.empty())
      throw Error{ErrorCode::usage, "slice", "a plane needs two dimensions", "the input has " + std::to_string(d)};
    return plane;
  });
}

Result<Slice> decision_slice(Executor& executor, const Points& points, std::int64_t i, const SlicePlane& plane) {
  return guarded("decision_slice", [&] {
    constexpr std::int64_t kMostResolution = 4096;
    require_point(executor, points, i);
    const auto x = points.x.row(i);
    if (plane.u.size() != x.size() || plane.v.size() != x.size())
      throw Error{ErrorCode::usage, "slice", "directions have " + std::to_string(plane.u.size()) + " elements",
                  "the input has " + std::to_string(x.size())};
    if (plane.resolution < 2 || !(plane.reach > 0) || !std::isfinite(plane.reach) ||
        !std::isfinite(dot(plane.u, plane.u) + dot(plane.v, plane.v)))
      throw Error{ErrorCode::usage, "slice", "needs a finite plane, a reach and two points a side", ""};
    if (plane.resolution > kMostResolution)
      throw Error{ErrorCode::resources, "slice", std::to_string(plane.resolution) + " points a side", "at most 4096"};
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
