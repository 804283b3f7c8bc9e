// SPDX-License-Identifier: MIT
#include "probust/analysis/geometry/boundary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "probust/analysis/geometry/jacobian.h"

namespace probust {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

// One point, and the predictions at displacements from it.
class Place {
 public:
  Place(Executor& executor, const Points& points, std::int64_t i)
      : executor_(executor),
        x_(Eigen::Map<const Eigen::VectorXf>(points.x.row(i).data(), static_cast<Index>(points.x.row(i).size())).cast<double>()),
        target_(points.target.empty() ? -1 : points.target[i]),
        shape_(points.x.shape) {}

  Index size() const { return x_.size(); }
  std::int64_t target() const { return target_; }  // -1 while it is unknown
  void set_target(std::int64_t target) { target_ = target; }

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

  // The displacement to the float32 point nearest to x + step.
  VectorXd rounded(const VectorXd& step) const { return (x_ + step).cast<float>().cast<double>() - x_; }

  double length() const { return x_.norm(); }

  // The prediction at each displacement.
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

  bool changed(std::int64_t answer) const { return answer >= 0 && answer != target_; }  // NaN gives no prediction

  std::int64_t forwards = 0;

 private:
  Executor& executor_;
  VectorXd x_;
  std::int64_t target_;
  Shape shape_;
};

// Displacements that change the prediction. Bisection shortens all of them together, towards x.
class Bisection {
 public:
  struct Candidate {
    VectorXd step;
    double length;
    double low = 0, high = 1;  // the prediction changes between these fractions of the step

    VectorXd shortened() const { return high * step; }
  };

  void add(VectorXd step) {
    const double length = step.norm();
    left_.push_back({std::move(step), length});
  }

  const std::vector<Candidate>& left() const { return left_; }

  std::vector<VectorXd> middles() const {
    std::vector<VectorXd> result;
    result.reserve(left_.size());
    for (const Candidate& candidate : left_) result.emplace_back(middle(candidate) * candidate.step);
    return result;
  }

  // Halves all intervals, given the predictions at middles().
  void halve(const Place& place, const std::vector<std::int64_t>& answers) {
    for (std::size_t k = 0; k < left_.size(); ++k) {
      const double half = middle(left_[k]);
      (place.changed(answers[k]) ? left_[k].high : left_[k].low) = half;
    }
  }

  // Drops candidates whose lower end is already longer than `limit` or than the upper end of another candidate: a result is never
  // shorter than its lower end. The first of the shortest candidates is never dropped.
  void drop_losers(double limit) {
    for (const Candidate& candidate : left_) limit = std::min(limit, candidate.high * candidate.length);
    std::erase_if(left_, [limit](const Candidate& candidate) {
      return candidate.low * candidate.length >= limit && candidate.high * candidate.length > limit;
    });
  }

 private:
  static double middle(const Candidate& candidate) { return 0.5 * (candidate.low + candidate.high); }

  std::vector<Candidate> left_;
};

VectorXd shortened(Place& place, const VectorXd& step, int halvings) {
  Bisection bisection;
  bisection.add(step);
  for (int round = 0; round < halvings; ++round) bisection.halve(place, place.answers(bisection.middles()));
  return bisection.left()[0].shortened();
}

NearestBoundary boundary_at(const Place& place, const VectorXd& step, std::int64_t rival) {
  NearestBoundary nearest;
  nearest.distance = step.norm();
  nearest.step.assign(step.begin(), step.end());
  nearest.rival = rival;
  nearest.forwards = place.forwards;
  return nearest;
}

// Rounds a step to float32 and returns the result for it.
NearestBoundary found(Place& place, const VectorXd& step) {
  const VectorXd exact = place.rounded(step);
  const std::int64_t rival = place.answers({exact})[0];
  return boundary_at(place, exact, rival);
}

NearestBoundary nothing(const Place& place) {
  NearestBoundary nearest;
  nearest.distance = std::numeric_limits<double>::infinity();
  nearest.step.assign(static_cast<std::size_t>(place.size()), 0.0F);
  nearest.forwards = place.forwards;
  return nearest;
}

NearestBoundary undefined(const Place& place) {
  NearestBoundary nearest = nothing(place);
  nearest.distance = std::numeric_limits<double>::quiet_NaN();
  return nearest;
}

// A step slightly past the nearest boundary of the classifier linearised at the current point.
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

// Searches from one point along gradients. Counts its own passes.
class GradientSearch {
 public:
  GradientSearch(Executor& executor, const Points& points, std::int64_t i) : executor_(executor), place_(executor, points, i) {}

  NearestBoundary nearest(int most_steps) {
    bool defined = true;
    std::optional<VectorXd> step = descended(most_steps, defined);
    if (!defined) return with_passes(undefined(place_));
    if (place_.size() <= 2) {
      const double reach = step ? step->norm() : kReach;
      step = shorter(std::move(step), looked_around(reach));
    }
    if (!step) return with_passes(nothing(place_));
    return with_passes(found(place_, projected(std::move(*step))));
  }

 private:
  static constexpr int kHalvings = 40;
  static constexpr int kProjections = 20;
  static constexpr double kGain = 1e-4;  // minimum relative reduction of the length for which a further projection is tried
  static constexpr int kRings = 48, kDirections = 96, kRoughHalvings = 8;
  static constexpr double kReach = 10;  // search distance if no boundary is known; the same as in BlackBoxSearch

  static std::optional<VectorXd> shorter(std::optional<VectorXd> a, std::optional<VectorXd> b) {
    return !a || (b && b->norm() < a->norm()) ? b : a;
  }

  NearestBoundary with_passes(NearestBoundary nearest) const {
    nearest.forwards = place_.forwards;
    nearest.backwards = backwards_;
    return nearest;
  }

  LogitJacobian jacobian(const Tensor& x) {
    backwards_ += executor_.classes();
    return jacobian_at(executor_, x);
  }

  // DeepFool: follows the steepest descent.
  std::optional<VectorXd> descended(int most_steps, bool& defined) {
    VectorXd step = VectorXd::Zero(place_.size());
    for (int round = 0; round < most_steps; ++round) {
      const Tensor x = place_.at({step}), logits = executor_.logits(x).value();
      ++place_.forwards;
      const std::int64_t answer = argmax(logits.row(0));
      defined = answer >= 0;
      if (!defined) return {};
      // The last step may have been too long, and a straight line from x may be shorter than the path.
      if (answer != place_.target()) return shortened(place_, step, kHalvings);
      const auto move = deepfool_step(logits.row(0), jacobian(x), place_.target(), 1e-6 * std::max(1.0, place_.length()));
      if (!move) return {};
      step += *move;
    }
    return {};
  }

  // The steepest direction need not lead to the nearest boundary. In one or two dimensions, all directions can be tried, on
  // growing rings, because a prediction may change and change back.
  std::optional<VectorXd> looked_around(double reach) {
    for (int ring = 1; ring <= kRings; ++ring) {
      if (auto crossing = shortest_of(on_ring(reach * ring / kRings), kRoughHalvings)) return crossing;
    }
    return {};
  }

  // Shortens each step as long as the prediction still changes, and returns the shortest result.
  std::optional<VectorXd> shortest_of(const std::vector<VectorXd>& steps, int halvings) {
    const std::vector<std::int64_t> answers = place_.answers(steps);
    std::optional<VectorXd> best;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      if (place_.changed(answers[k])) best = shorter(std::move(best), shortened(place_, steps[k], halvings));
    }
    return best;
  }

  std::vector<VectorXd> on_ring(double radius) const {
    std::vector<VectorXd> steps;
    const int directions = place_.size() == 1 ? 2 : kDirections;
    for (int k = 0; k < directions; ++k) {
      const double angle = 2 * M_PI * k / directions;
      VectorXd step(place_.size());
      for (Index e = 0; e < step.size(); ++e) step[e] = radius * (e == 0 ? std::cos(angle) : std::sin(angle));
      steps.push_back(std::move(step));
    }
    return steps;
  }

  // Repeatedly moves to the nearest point of the boundary linearised at `step`, as long as the step gets shorter (Hasofer and
  // Lind 1974; Rackwitz and Fiessler 1978): the vector to the nearest point of a boundary is perpendicular to it.
  VectorXd projected(VectorXd step) {
    for (int round = 0; round < kProjections; ++round) {
      const VectorXd next = projection(step);
      const bool gained = next.norm() < (1 - kGain) * step.norm();
      if (next.norm() < step.norm()) step = next;
      if (!gained) break;
    }
    return step;
  }

  VectorXd projection(const VectorXd& step) {
    const Tensor x = place_.at({step}), logits = executor_.logits(x).value();
    ++place_.forwards;
    const std::int64_t rival = argmax(logits.row(0));
    if (!place_.changed(rival)) return step;
    const VectorXd gradient = margin_gradient(jacobian(x), place_.target(), rival);
    const double margin = static_cast<double>(logits.row(0)[place_.target()]) - logits.row(0)[rival],
                 square = gradient.squaredNorm();
    if (!(square > 0)) return step;
    const VectorXd foot = gradient * ((gradient.dot(step) - margin) / square);
    // If the boundary is curved, the foot of the perpendicular may not lie beyond the boundary, so parts of the way there are
    // tried, too.
    std::vector<VectorXd> tries;
    for (const double part : {1.0, 0.5, 0.25, 0.1}) tries.push_back((step + part * (foot - step)) * (1 + 1e-3));
    return shortest_of(tries, kHalvings).value_or(step);
  }

  Executor& executor_;
  Place place_;
  std::int64_t backwards_ = 0;
};

void check_search(const BlackBoxSearch& search) {
  if (search.directions < 1 || search.rounds < 0 || search.tries < 1 || !(search.reach > 0) || !std::isfinite(search.reach))
    throw Error{ErrorCode::usage, "nearest_boundary_black_box", "has directions, rounds, tries or a reach out of range",
                "give at least one direction, 0 rounds and one try, and a positive, finite reach"};
}

}  // namespace

class BoundarySearch::BlackBox {
 public:
  BlackBox(Executor& executor, const Points& point, const BlackBoxSearch& search)
      : place_(executor, point, 0),
        search_(search),
        random_(point.seed, static_cast<std::uint32_t>(point.index[0]), 0, kStream),
        reach_(search.reach / kFarthest),
        drawn_{nowhere()},
        planned_(1 + left()) {}

  // Sends one query. State changes only after all its logits have arrived, and random numbers are drawn only once.
  bool advance() {
    const auto answers = place_.answers(asks_ == Asks::middles ? bisection_.middles() : drawn_);
    switch (asks_) {
      case Asks::here:
        if (answers[0] < 0) return end(undefined(place_));
        if (place_.target() < 0) place_.set_target(answers[0]);
        return draw();
      case Asks::drawn:
        return shorten(answers);
      case Asks::middles:
        return halve(answers);
      default:
        return end(boundary_at(place_, drawn_[0], answers[0]));
    }
  }

  const NearestBoundary& nearest() const { return nearest_; }

  std::int64_t planned() const { return planned_; }

 private:
  static constexpr std::uint32_t kStream = 0xb0a7;
  static constexpr std::int64_t kMostNumbers = 1 << 22;  ///< limit for the displacements in memory
  static constexpr Index kSingle = 64;                   ///< maximum number of elements that are tried individually
  static constexpr double kFarthest = 256;               ///< ratio of the largest search distance to the smallest
  static constexpr int kHalvings = 26;

  enum class Asks { here, drawn, middles, there };

  VectorXd nowhere() const { return VectorXd::Zero(place_.size()); }

  // A random vector of given length. Its direction is that of `centre` plus `spread` times a random direction.
  VectorXd of_length(double length, const VectorXd& centre, double spread) {
    VectorXd direction = centre;
    const double scale = centre.norm() > 0 ? spread * centre.norm() / std::sqrt(static_cast<double>(centre.size())) : 1.0;
    for (double& x : direction) x += scale * random_.normal();
    return direction * (length / direction.norm());
  }

  // An estimate of the remaining forward passes that is rarely exceeded: about half of the displacements are dropped at each
  // halving, and a few remain.
  std::int64_t left() const {
    constexpr std::int64_t kStay = 4;
    const auto with_shortening = [](std::int64_t drawn) { return 2 * drawn + kStay * kHalvings; };
    const std::int64_t a_round = with_shortening(search_.tries + 2 * std::min(place_.size(), kSingle));
    std::int64_t passes = (search_.rounds - round_) * a_round + 1;
    if (!looking()) return passes;
    for (double reach = 2 * reach_; best_.size() == 0 && reach <= search_.reach; reach *= 2) passes += search_.directions;
    return passes + with_shortening(search_.directions - looked_);
  }

  bool looking() const { return looked_ > 0 || (best_.size() == 0 && reach_ <= search_.reach); }

  bool end(NearestBoundary nearest) {
    nearest_ = std::move(nearest);
    planned_ = place_.forwards;
    return false;
  }

  // Prepares the next query: more directions, then steps around the best, and finally the prediction at the best.
  bool draw() {
    if (!looking() && best_.size() == 0) return end(nothing(place_));
    planned_ = place_.forwards + left();
    asks_ = Asks::drawn;
    drawn_.clear();
    if (looking()) {
      look();
    } else if (round_ < search_.rounds) {
      refine();
    } else {
      drawn_.push_back(place_.rounded(best_));
      asks_ = Asks::there;
    }
    return true;
  }

  // The prediction may change and change back, so each direction is tried at growing distances.
  void look() {
    const std::int64_t at_once = std::max<std::int64_t>(1, kMostNumbers / place_.size());
    const std::int64_t last = std::min(search_.directions, looked_ + at_once);
    for (; looked_ < last; ++looked_) drawn_.push_back(of_length(reach_, nowhere(), 1.0));
  }

  void refine() {
    for (std::int64_t k = 0; k < search_.tries; ++k) drawn_.push_back(of_length(best_.norm() * 0.999, best_, spread_));
    // Trees decide on single elements, so the step is also tried without one element, and with only one.
    for (Index e = 0; e < std::min(place_.size(), kSingle); ++e) {
      VectorXd without = best_, alone = nowhere();
      without[e] = 0;
      alone[e] = best_[e];
      drawn_.push_back(std::move(without));
      drawn_.push_back(std::move(alone));
    }
  }

  // Bisects the displacements that change the prediction. The shortest result replaces best_ if it is shorter than that.
  bool shorten(const std::vector<std::int64_t>& answers) {
    bisection_ = {};
    halvings_ = 0;
    for (std::size_t k = 0; k < drawn_.size(); ++k) {
      if (place_.changed(answers[k])) bisection_.add(std::move(drawn_[k]));
    }
    if (bisection_.left().empty()) return take_shortest();
    asks_ = Asks::middles;
    return true;
  }

  bool halve(const std::vector<std::int64_t>& answers) {
    bisection_.halve(place_, answers);
    bisection_.drop_losers(best_.size() == 0 ? std::numeric_limits<double>::infinity() : best_.norm());
    const bool more = ++halvings_ < kHalvings && !bisection_.left().empty();
    return more || take_shortest();
  }

  bool take_shortest() {
    const double before = best_.norm();
    for (const Bisection::Candidate& candidate : bisection_.left()) {
      if (best_.size() == 0 || candidate.high * candidate.length < best_.norm()) best_ = candidate.shortened();
    }
    if (looked_ == 0) {
      ++round_;
      if (best_.norm() > 0.99 * before) spread_ *= 0.7;
    } else if (looked_ == search_.directions) {
      looked_ = 0;
      reach_ *= 2;
    }
    return draw();
  }

  Place place_;
  BlackBoxSearch search_;
  NoiseStream random_;
  VectorXd best_;
  Asks asks_ = Asks::here;
  double reach_, spread_ = 0.5;
  std::int64_t looked_ = 0;  // number of directions tried at this reach; 0 while refining
  int round_ = 0, halvings_ = 0;
  std::vector<VectorXd> drawn_;
  std::int64_t planned_;
  Bisection bisection_;
  NearestBoundary nearest_;
};

BoundarySearch::BoundarySearch(Executor& executor, const Points& point, const BlackBoxSearch& search, ExternalEngine* external)
    : ExecutorJob(executor, external) {
  Points checked = point;
  if (point.target.empty()) checked.target.assign(point.index.size(), 0);
  check(executor, checked);
  check_search(search);
  if (point.size() != 1)
    throw Error{ErrorCode::usage, "nearest_boundary_black_box", "needs one point, not " + std::to_string(point.size()),
                "call it once per point"};
  search_ = std::make_unique<BlackBox>(this->executor(), point, search);
}

BoundarySearch::~BoundarySearch() = default;

bool BoundarySearch::piece() { return search_->advance(); }
const NearestBoundary& BoundarySearch::nearest() const { return search_->nearest(); }
std::int64_t BoundarySearch::planned() const { return search_->planned(); }

Result<std::vector<NearestBoundary>> nearest_boundary(Executor& executor, const Points& points, int most_steps) {
  return guarded("nearest_boundary", [&] {
    if (most_steps < 1) throw Error{ErrorCode::usage, "nearest_boundary", "needs at least one step", ""};
    check(executor, points);
    std::vector<NearestBoundary> all;
    for (std::int64_t i = 0; i < points.size(); ++i) all.push_back(GradientSearch(executor, points, i).nearest(most_steps));
    return all;
  });
}

Result<std::vector<NearestBoundary>> nearest_boundary_black_box(Executor& executor, const Points& points,
                                                                const BlackBoxSearch& search) {
  return guarded("nearest_boundary_black_box", [&] {
    check(executor, points);
    check_search(search);
    std::vector<NearestBoundary> all;
    for (std::int64_t i = 0; i < points.size(); ++i) {
      BoundarySearch one(executor, slice(points, i, 1), search);
      one.finish();
      all.push_back(one.nearest());
    }
    return all;
  });
}

}  // namespace probust
