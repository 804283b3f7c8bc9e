// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <map>

#include "probust/analysis/geometry/boundary.h"
#include "probust/regions/nearest_region.h"

namespace probust {
namespace {

constexpr std::int64_t kMostDivisions = 200'000;

// The step with which x reaches `there` or a number just beyond it, after rounding. 0 for a NaN.
float step_to(float x, float there) {
  if (!(x < there || x > there)) return 0;
  const bool up = x < there;
  float step = there - x;
  while (up ? x + step < there : x + step > there) step = std::nextafter(step, up ? HUGE_VALF : -HUGE_VALF);
  return step;
}

class TreeBoundaries {
 public:
  TreeBoundaries(Executor& executor, StepModel model)
      : executor_(executor), model_(std::move(model)), unit_(model_.cuts.size(), 1.0) {}

  NearestBoundary nearest(const Points& point) {
    const std::int64_t target = point.target[0];
    const auto bounds = bounds_.try_emplace(target, model_, target).first;
    forwards_ = 0;
    const NearestRegion search = nearest_region(
        model_, bounds->second, point.x.row(0), unit_, kMostDivisions,
        [&](const std::vector<float>& x) { return predicted(x) == target; }, &executor_.progress.stop);
    NearestBoundary boundary;
    boundary.distance = std::numeric_limits<double>::infinity();
    boundary.step.assign(unit_.size(), 0);
    if (search.found) take(point, *search.found, boundary);
    if (search.bound < boundary.distance) take_nearer(point, boundary);
    boundary.at_least = search.bound;
    boundary.forwards += forwards_;
    return boundary;
  }

 private:
  std::int64_t predicted(const std::vector<float>& x) {
    ++forwards_;
    Shape shape = executor_.point_shape();
    shape.insert(shape.begin(), 1);
    return argmax(executor_.logits(Tensor(shape, x)).value().row(0));
  }

  // If rounding in a model's preprocessing moves the nearest point across the boundary, a point farther inside is used.
  void take(const Points& point, const LosingRegion& region, NearestBoundary& boundary) {
    boundary.distance = region.distance;
    const std::vector<float>* there = &region.nearest;
    boundary.rival = predicted(*there);
    if (boundary.rival == point.target[0]) boundary.rival = predicted(*(there = &region.inside));
    const auto x = point.x.row(0);
    for (std::size_t e = 0; e < x.size(); ++e) boundary.step[e] = step_to(x[e], (*there)[e]);
  }

  void take_nearer(const Points& point, NearestBoundary& boundary) {
    NearestBoundary other = nearest_boundary_black_box(executor_, point).value()[0];
    if (other.distance < boundary.distance) boundary = std::move(other);
  }

  Executor& executor_;
  StepModel model_;
  std::vector<double> unit_;
  std::map<std::int64_t, MarginBounds> bounds_;
  std::int64_t forwards_ = 0;
};

}  // namespace

Result<std::vector<NearestBoundary>> nearest_boundary_of_trees(Executor& executor, const Points& points) {
  return guarded("nearest_boundary_of_trees", [&] {
    check(executor, points);
    std::optional<StepModel> model = step_model(executor.facts().classifier);
    if (!model)
      throw Error{ErrorCode::unsupported, "nearest_boundary_of_trees", "needs a classifier whose logits are a sum over trees",
                  "use nearest_boundary_black_box"};
    TreeBoundaries boundaries(executor, std::move(*model));
    std::vector<NearestBoundary> all;
    for (std::int64_t i = 0; i < points.size(); ++i) all.push_back(boundaries.nearest(slice(points, i, 1)));
    return all;
  });
}

BoundaryMethod boundary_method(Executor& executor) {
  if (executor.differentiable() && !executor.piecewise_constant()) return BoundaryMethod::gradients;
  return executor.classes() > 1 && step_model(executor.facts().classifier) ? BoundaryMethod::regions
                                                                           : BoundaryMethod::random_search;
}

std::string_view describe(BoundaryMethod method) {
  return method == BoundaryMethod::gradients ? "gradients" : method == BoundaryMethod::regions ? "regions" : "random search";
}

Result<std::vector<NearestBoundary>> nearest_boundary_by(BoundaryMethod method, Executor& executor, const Points& points) {
  switch (method) {
    case BoundaryMethod::gradients:
      return nearest_boundary(executor, points);
    case BoundaryMethod::regions:
      return nearest_boundary_of_trees(executor, points);
    case BoundaryMethod::random_search:
      return nearest_boundary_black_box(executor, points);
  }
  return std::vector<NearestBoundary>{};
}

}  // namespace probust
