// SPDX-License-Identifier: MIT
#include "probust/analysis/boundary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace probust {
namespace {

using Vector = std::vector<double>;

double norm(const Vector& v) {
  double squares = 0;
  for (const double x : v) squares += x * x;
  return std::sqrt(squares);
}

// One point and its answers along displacements.
class Place {
 public:
  Place(Executor& executor, const Points& points, std::int64_t i)
      : executor_(executor),
        x_(points.x.row(i).begin(), points.x.row(i).end()),
        target_(points.target[i]),
        shape_(points.x.shape) {}

  std::size_t size() const { return x_.size(); }
  std::int64_t target() const { return target_; }

  Tensor at(const std::vector<Vector>& steps) const {
    Shape shape = shape_;
    shape[0] = static_cast<std::int64_t>(steps.size());
    Tensor x(shape);
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const auto row = x.row(static_cast<std::int64_t>(k));
      for (std::size_t e = 0; e < x_.size(); ++e) row[e] = static_cast<float>(x_[e] + steps[k][e]);
    }
    return x;
  }

  // The displacement to the float32 point that a displacement leads to.
  Vector rounded(const Vector& step) const {
    Vector exact(step.size());
    for (std::size_t e = 0; e < step.size(); ++e) exact[e] = static_cast<double>(static_cast<float>(x_[e] + step[e])) - x_[e];
    return exact;
  }

  double length() const { return norm(x_); }

  // The answer at each displacement.
  std::vector<std::int64_t> answers(const std::vector<Vector>& steps) {
    constexpr std::size_t kAtOnce = 1024;
    std::vector<std::int64_t> result;
    for (std::size_t first = 0; first < steps.size(); first += kAtOnce) {
      const std::vector<Vector> part(steps.begin() + first, steps.begin() + std::min(steps.size(), first + kAtOnce));
      const Tensor logits = executor_.logits(at(part)).value();
      for (std::size_t k = 0; k < part.size(); ++k) result.push_back(argmax(logits.row(static_cast<std::int64_t>(k))));
    }
    forwards += static_cast<std::int64_t>(steps.size());
    return result;
  }

  std::int64_t forwards = 0;

 private:
  Executor& executor_;
  Vector x_;
  std::int64_t target_;
  Shape shape_;
};

Vector scaled(const Vector& v, double factor) {
  Vector result = v;
  for (double& x : result) x *= factor;
  return result;
}

// Shortens displacements whose answer has changed, all at once, by bisection towards x: what is left of each, from 0 to 1.
Vector shortened(Place& place, const std::vector<Vector>& steps, int halvings) {
  Vector low(steps.size(), 0.0), high(steps.size(), 1.0);
  for (int round = 0; round < halvings; ++round) {
    std::vector<Vector> middle;
    for (std::size_t k = 0; k < steps.size(); ++k) middle.push_back(scaled(steps[k], 0.5 * (low[k] + high[k])));
    const auto answers = place.answers(middle);
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const bool other = answers[k] >= 0 && answers[k] != place.target();  // NaN is no answer
      (other ? high : low)[k] = 0.5 * (low[k] + high[k]);
    }
  }
  return high;
}

// What stands at a step, as float32 numbers have it.
NearestBoundary found(Place& place, const Vector& step) {
  NearestBoundary nearest;
  const Vector exact = place.rounded(step);
  nearest.distance = norm(exact);
  nearest.step.assign(exact.begin(), exact.end());
  nearest.rival = place.answers({exact})[0];
  nearest.forwards = place.forwards;
  return nearest;
}

NearestBoundary nothing(const Place& place) {
  NearestBoundary nearest;
  nearest.distance = std::numeric_limits<double>::infinity();
  nearest.step.assign(place.size(), 0.0F);
  nearest.forwards = place.forwards;
  return nearest;
}

// The step to the nearest boundary of the classifier linearised where it stands, a little beyond.
std::optional<Vector> deepfool_step(std::span<const float> logits, std::span<const float> jacobian, std::int64_t target,
                                    double least) {
  constexpr double kOvershoot = 1e-3;
  const std::size_t d = jacobian.size() / logits.size();
  double nearest = std::numeric_limits<double>::infinity();
  Vector best;
  for (std::size_t c = 0; c < logits.size(); ++c) {
    if (static_cast<std::int64_t>(c) == target) continue;
    Vector gradient(d);
    for (std::size_t e = 0; e < d; ++e) gradient[e] = static_cast<double>(jacobian[target * d + e]) - jacobian[c * d + e];
    const double margin = static_cast<double>(logits[target]) - logits[c], length = norm(gradient);
    const double distance = std::max(margin, 0.0) / length;
    if (!(length > 0) || !(distance < nearest)) continue;
    nearest = distance;
    best = scaled(gradient, -(std::max(margin, least * length) / length) * (1 + kOvershoot) / length);
  }
  return best.empty() ? std::nullopt : std::optional(best);
}

NearestBoundary by_gradients(Executor& executor, const Points& points, std::int64_t i, int most_steps) {
  constexpr int kHalvings = 40;
  Place place(executor, points, i);
  Vector step(place.size(), 0.0);
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
      NearestBoundary nearest = found(place, scaled(step, shortened(place, {step}, kHalvings)[0]));
      nearest.backwards = backwards;
      return nearest;
    }
    std::vector<float> jacobian;
    executor.jacobian(x, [&](std::int64_t, std::span<const float> J) { jacobian.assign(J.begin(), J.end()); }).value();
    backwards += executor.classes();
    const auto move = deepfool_step(logits.row(0), jacobian, place.target(), 1e-6 * std::max(1.0, place.length()));
    if (!move) break;
    for (std::size_t e = 0; e < step.size(); ++e) step[e] += (*move)[e];
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
    if (place_.answers({Vector(place_.size(), 0.0)})[0] < 0) {
      NearestBoundary undefined = nothing(place_);
      undefined.distance = std::numeric_limits<double>::quiet_NaN();
      return undefined;
    }
    // The answer may change and change back: look along each direction at growing distances.
    const Vector nowhere(place_.size(), 0.0);
    const auto at_once = std::max<std::int64_t>(1, kMostNumbers / static_cast<std::int64_t>(place_.size()));
    for (double reach = search_.reach / 256; reach <= search_.reach && best_.empty(); reach *= 2) {
      for (std::int64_t first = 0; first < search_.directions; first += at_once) {
        std::vector<Vector> steps;
        const std::int64_t last = std::min(search_.directions, first + at_once);
        for (std::int64_t k = first; k < last; ++k) steps.push_back(of_length(reach, nowhere, 1.0));
        take_shortest(steps);
      }
    }
    if (best_.empty()) return nothing(place_);
    double spread = 0.5;
    for (int round = 0; round < search_.rounds; ++round) {
      const double before = norm(best_);
      std::vector<Vector> steps;
      for (std::int64_t k = 0; k < search_.tries; ++k) steps.push_back(of_length(before * 0.999, best_, spread));
      // Trees decide on single elements: what is left of the step without one of them, or with one alone.
      for (std::size_t e = 0; e < std::min(place_.size(), kSingle); ++e) {
        Vector without = best_, alone(place_.size(), 0.0);
        without[e] = 0;
        alone[e] = best_[e];
        steps.push_back(without);
        steps.push_back(alone);
      }
      take_shortest(steps);
      if (norm(best_) > 0.99 * before) spread *= 0.7;
    }
    return found(place_, best_);
  }

 private:
  static constexpr std::uint32_t kStream = 0xb0a7;
  static constexpr std::int64_t kMostNumbers = 1 << 22;  ///< of displacements held at once
  static constexpr std::size_t kSingle = 64;             ///< elements that are tried by themselves

  // A vector of a length in a direction at random about that of `centre`.
  Vector of_length(double length, const Vector& centre, double spread) {
    Vector direction = centre;
    const double scale = norm(centre) > 0 ? spread * norm(centre) / std::sqrt(static_cast<double>(centre.size())) : 1.0;
    for (double& x : direction) x += scale * random_.normal();
    return scaled(direction, length / norm(direction));
  }

  // Of the displacements that change the answer, the one that can be shortened most becomes the best if it beats it.
  void take_shortest(const std::vector<Vector>& steps) {
    constexpr int kHalvings = 26;
    const auto answers = place_.answers(steps);
    std::vector<Vector> changed;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      if (answers[k] >= 0 && answers[k] != place_.target()) changed.push_back(steps[k]);
    }
    if (changed.empty()) return;
    const Vector left = shortened(place_, changed, kHalvings);
    for (std::size_t k = 0; k < changed.size(); ++k) {
      if (best_.empty() || left[k] * norm(changed[k]) < norm(best_)) best_ = scaled(changed[k], left[k]);
    }
  }

  Place place_;
  BlackBoxSearch search_;
  NoiseStream random_;
  Vector best_;
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
