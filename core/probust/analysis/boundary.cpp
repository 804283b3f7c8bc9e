// SPDX-License-Identifier: MIT
#include "probust/analysis/boundary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "probust/analysis/jacobian.h"

namespace probust {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

// One point and its answers along displacements.
class Place {
 public:
  Place(Executor& executor, const Points& points, std::int64_t i)
      : executor_(executor),
        x_(Eigen::Map<const Eigen::VectorXf>(points.x.row(i).data(), static_cast<Index>(points.x.row(i).size())).cast<double>()),
        target_(points.target[i]),
        shape_(points.x.shape) {}

  Index size() const { return x_.size(); }
  std::int64_t target() const { return target_; }

  Tensor at(const std::vector<VectorXd>& steps) const {
    Shape shape = shape_;
    shape[0] = static_cast<std::int64_t>(steps.size());
    Tensor x(shape);
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const auto row = x.row(static_cast<std::int64_t>(k));
      Eigen::Map<Eigen::VectorXf>(row.data(), size()) = (x_ + steps[k]).cast<float>();
    }
    return x;
  }

  // The displacement to the float32 point that a displacement leads to.
  VectorXd rounded(const VectorXd& step) const { return (x_ + step).cast<float>().cast<double>() - x_; }

  double length() const { return x_.norm(); }

  // The answer at each displacement.
  std::vector<std::int64_t> answers(const std::vector<VectorXd>& steps) {
    constexpr std::size_t kAtOnce = 1024;
    std::vector<std::int64_t> result;
    for (std::size_t first = 0; first < steps.size(); first += kAtOnce) {
      const std::vector<VectorXd> part(steps.begin() + first, steps.begin() + std::min(steps.size(), first + kAtOnce));
      const Tensor logits = executor_.logits(at(part)).value();
      for (std::size_t k = 0; k < part.size(); ++k) result.push_back(argmax(logits.row(static_cast<std::int64_t>(k))));
    }
    forwards += static_cast<std::int64_t>(steps.size());
    return result;
  }

  std::int64_t forwards = 0;

 private:
  Executor& executor_;
  VectorXd x_;
  std::int64_t target_;
  Shape shape_;
};

// Shortens displacements whose answer has changed, all at once, by bisection towards x: what is left of each, from 0 to 1.
std::vector<double> shortened(Place& place, const std::vector<VectorXd>& steps, int halvings) {
  std::vector<double> low(steps.size(), 0.0), high(steps.size(), 1.0);
  for (int round = 0; round < halvings; ++round) {
    std::vector<VectorXd> middle;
    middle.reserve(steps.size());
    for (std::size_t k = 0; k < steps.size(); ++k) middle.emplace_back(0.5 * (low[k] + high[k]) * steps[k]);
    const auto answers = place.answers(middle);
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const bool other = answers[k] >= 0 && answers[k] != place.target();  // NaN is no answer
      (other ? high : low)[k] = 0.5 * (low[k] + high[k]);
    }
  }
  return high;
}

// What stands at a step, as float32 numbers have it.
NearestBoundary found(Place& place, const VectorXd& step) {
  NearestBoundary nearest;
  const VectorXd exact = place.rounded(step);
  nearest.distance = exact.norm();
  nearest.step.assign(exact.begin(), exact.end());
  nearest.rival = place.answers({exact})[0];
  nearest.forwards = place.forwards;
  return nearest;
}

NearestBoundary nothing(const Place& place) {
  NearestBoundary nearest;
  nearest.distance = std::numeric_limits<double>::infinity();
  nearest.step.assign(static_cast<std::size_t>(place.size()), 0.0F);
  nearest.forwards = place.forwards;
  return nearest;
}

// The step to the nearest boundary of the classifier linearised where it stands, a little beyond.
std::optional<VectorXd> deepfool_step(std::span<const float> logits, const LogitJacobian& J, std::int64_t target, double least) {
  constexpr double kOvershoot = 1e-3;
  const VectorXd margins = margins_of(logits, target);
  double nearest = std::numeric_limits<double>::infinity();
  std::optional<VectorXd> best;
  for (Index row = 0; row < margins.size(); ++row) {
    const VectorXd gradient = margin_gradient(J, target, rival_of(row, target));
    const double length = gradient.norm(), distance = std::max(margins[row], 0.0) / length;
    if (!(length > 0) || !(distance < nearest)) continue;
    nearest = distance;
    best = gradient * (-(std::max(margins[row], least * length) / length) * (1 + kOvershoot) / length);
  }
  return best;
}

NearestBoundary by_gradients(Executor& executor, const Points& points, std::int64_t i, int most_steps) {
  constexpr int kHalvings = 40;
  Place place(executor, points, i);
  VectorXd step = VectorXd::Zero(place.size());
  std::int64_t backwards = 0;
  for (int round = 0; round < most_steps; ++round) {
    const Tensor x = place.at({step}), logits = executor.logits(x).value();
    ++place.forwards;
    if (argmax(logits.row(0)) < 0) {
      NearestBoundary undefined = nothing(place);
      undefined.distance = std::numeric_limits<double>::quiet_NaN();
      return undefined;
    }
    if (argmax(logits.row(0)) != place.target()) {
      // The last stretch may have gone too far, and a straight way may be shorter than a bent one.
      NearestBoundary nearest = found(place, step * shortened(place, {step}, kHalvings)[0]);
      nearest.backwards = backwards;
      return nearest;
    }
    const LogitJacobian J = jacobian_at(executor, x);
    backwards += executor.classes();
    const auto move = deepfool_step(logits.row(0), J, place.target(), 1e-6 * std::max(1.0, place.length()));
    if (!move) break;
    step += *move;
  }
  NearestBoundary none = nothing(place);
  none.backwards = backwards;
  return none;
}

class BlackBox {
 public:
  BlackBox(Executor& executor, const Points& points, std::int64_t i, const BlackBoxSearch& search)
      : place_(executor, points, i),
        search_(search),
        random_(points.seed, static_cast<std::uint32_t>(points.index[i]), 0, kStream) {}

  NearestBoundary run() {
    const VectorXd nowhere = VectorXd::Zero(place_.size());
    if (place_.answers({nowhere})[0] < 0) {
      NearestBoundary undefined = nothing(place_);
      undefined.distance = std::numeric_limits<double>::quiet_NaN();
      return undefined;
    }
    // The answer may change and change back: look along each direction at growing distances.
    const std::int64_t at_once = std::max<std::int64_t>(1, kMostNumbers / place_.size());
    for (double reach = search_.reach / 256; reach <= search_.reach && best_.size() == 0; reach *= 2) {
      for (std::int64_t first = 0; first < search_.directions; first += at_once) {
        std::vector<VectorXd> steps;
        const std::int64_t last = std::min(search_.directions, first + at_once);
        for (std::int64_t k = first; k < last; ++k) steps.push_back(of_length(reach, nowhere, 1.0));
        take_shortest(steps);
      }
    }
    if (best_.size() == 0) return nothing(place_);
    double spread = 0.5;
    for (int round = 0; round < search_.rounds; ++round) {
      const double before = best_.norm();
      std::vector<VectorXd> steps;
      for (std::int64_t k = 0; k < search_.tries; ++k) steps.push_back(of_length(before * 0.999, best_, spread));
      // Trees decide on single elements: what is left of the step without one of them, or with one alone.
      for (Index e = 0; e < std::min(place_.size(), kSingle); ++e) {
        VectorXd without = best_, alone = nowhere;
        without[e] = 0;
        alone[e] = best_[e];
        steps.push_back(without);
        steps.push_back(alone);
      }
      take_shortest(steps);
      if (best_.norm() > 0.99 * before) spread *= 0.7;
    }
    return found(place_, best_);
  }

 private:
  static constexpr std::uint32_t kStream = 0xb0a7;
  static constexpr std::int64_t kMostNumbers = 1 << 22;  ///< of displacements held at once
  static constexpr Index kSingle = 64;                   ///< elements that are tried by themselves

  // A vector of a length in a direction at random about that of `centre`.
  VectorXd of_length(double length, const VectorXd& centre, double spread) {
    VectorXd direction = centre;
    const double scale = centre.norm() > 0 ? spread * centre.norm() / std::sqrt(static_cast<double>(centre.size())) : 1.0;
    for (double& x : direction) x += scale * random_.normal();
    return direction * (length / direction.norm());
  }

  // Of the displacements that change the answer, the one that can be shortened most becomes the best if it beats it.
  void take_shortest(const std::vector<VectorXd>& steps) {
    constexpr int kHalvings = 26;
    const auto answers = place_.answers(steps);
    std::vector<VectorXd> changed;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      if (answers[k] >= 0 && answers[k] != place_.target()) changed.push_back(steps[k]);
    }
    if (changed.empty()) return;
    const std::vector<double> left = shortened(place_, changed, kHalvings);
    for (std::size_t k = 0; k < changed.size(); ++k) {
      if (best_.size() == 0 || left[k] * changed[k].norm() < best_.norm()) best_ = left[k] * changed[k];
    }
  }

  Place place_;
  BlackBoxSearch search_;
  NoiseStream random_;
  VectorXd best_;
};

}  // namespace

Result<std::vector<NearestBoundary>> nearest_boundary(Executor& executor, const Points& points, int most_steps) {
  return guarded("nearest_boundary", [&] {
    if (most_steps < 1) throw Error{ErrorCode::usage, "nearest_boundary", "no steps are allowed", "allow at least one"};
    check(executor, points);
    std::vector<NearestBoundary> all;
    for (std::int64_t i = 0; i < points.size(); ++i) all.push_back(by_gradients(executor, points, i, most_steps));
    return all;
  });
}

Result<std::vector<NearestBoundary>> nearest_boundary_black_box(Executor& executor, const Points& points,
                                                                const BlackBoxSearch& search) {
  return guarded("nearest_boundary_black_box", [&] {
    if (search.directions < 1 || search.rounds < 0 || search.tries < 1 || !(search.reach > 0) || !std::isfinite(search.reach))
      throw Error{ErrorCode::usage, "nearest_boundary_black_box", "no directions, tries or reach",
                  "all must be positive and finite"};
    check(executor, points);
    std::vector<NearestBoundary> all;
    for (std::int64_t i = 0; i < points.size(); ++i) all.push_back(BlackBox(executor, points, i, search).run());
    return all;
  });
}

}  // namespace probust
