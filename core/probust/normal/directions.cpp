// SPDX-License-Identifier: MIT
//
// Deák, "Three digit accurate multiple normal probabilities", Numer. Math. 35 (1980): the length of a normal vector is
// independent of its direction, so along each direction the probability is exactly that of a chi variable, and opposite
// directions share their scalar products. Giles, "Multilevel Monte Carlo methods", Acta Numerica 24 (2015): out of a thousand
// faces, only one or two hundred are ever the nearest. Many samples use only these faces; a few samples correct for the others.
#include "probust/normal/directions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "probust/normal/lattice.h"
#include "probust/normal/vector_math.h"

namespace probust::normal {
namespace {

using Eigen::Index;
using FloatLanes = Eigen::Array<float, kLanes, 1>;

/// The faces w . y <= 1 of the polytope, w = u / z; one column each.
using Faces = Eigen::Map<const Eigen::MatrixXf>;

/// Unit vectors; one row each.
using Directions = Eigen::Matrix<float, kLanes, Eigen::Dynamic, Eigen::ColMajor, kLanes, kMostColumns>;

/// The number of faces whose normals are multiplied by the directions of a block at once.
constexpr Index kFacesAtOnce = 32;
using Products = Eigen::Matrix<float, kLanes, Eigen::Dynamic, Eigen::ColMajor, kLanes, kFacesAtOnce>;

template <class Use>
void for_products(const Faces& faces, const Directions& y, const Use& use) {
  Products products;
  for (Index first = 0; first < faces.cols(); first += kFacesAtOnce) {
    products = y.lazyProduct(faces.middleCols(first, std::min(kFacesAtOnce, faces.cols() - first)));
    use(first, products);
  }
}

/// P(|Y| > radius) for d independent standard normal variables: a finite sum, because the incomplete gamma function has
/// half-integer order.
void chi_tail(Index dimension, const Lanes& radius, Lanes& tail) {
  constexpr double kDensityAtZero = 0.3989422804014327;  // of one normal variable
  const bool odd = dimension % 2 != 0;
  for (int i = 0; i < kLanes; ++i) {
    const double square = radius[i] * radius[i], decay = rational::exp(-0.5 * square);
    double term = odd ? 2.0 * kDensityAtZero * radius[i] : 1.0, sum = 0.0;
    for (Index k = odd ? 3 : 2; k <= dimension; k += 2) {
      sum += term;
      term *= square / static_cast<double>(k);
    }
    tail[i] = decay * (odd ? sum + 2.0 * kDensityAtZero * rational::mills_ratio(radius[i]) : sum);
  }
}

/// Directions, uniform on the sphere, from lattice points.
class Sphere {
 public:
  Sphere(Index dimension, std::uint64_t seed, Arena& arena)
      : dimension_(dimension), lattice_(static_cast<int>(dimension), seed, arena) {}

  void directions(const ShiftedLattice::Block& block, Directions& y) const {
    std::array<Lanes, kMostColumns> normal;
    Lanes u, scale;
    scale.fill(0.0);
    for (Index axis = 0; axis < dimension_; ++axis) {
      lattice_.coordinate(static_cast<int>(axis), block, u);
      quantile_lanes(u, normal[axis]);
      for (int i = 0; i < kLanes; ++i) scale[i] += normal[axis][i] * normal[axis][i];
    }
    y.resize(kLanes, dimension_);
    for (int i = 0; i < kLanes; ++i) scale[i] = 1.0 / std::sqrt(std::max(scale[i], 1e-300));
    for (Index axis = 0; axis < dimension_; ++axis) {
      for (int i = 0; i < kLanes; ++i) y(i, axis) = static_cast<float>(normal[axis][i] * scale[i]);
    }
  }

 private:
  Index dimension_;
  ShiftedLattice lattice_;
};

/// The mean over a direction and its opposite of P(|Y| > distance to the nearest face).
void beyond(const Faces& faces, const Directions& y, Lanes& q) {
  constexpr auto kNearest = static_cast<float>(1.0 / rational::kFar);
  FloatLanes ahead, behind;  // 1 / distance
  ahead.fill(kNearest);
  behind.fill(-kNearest);
  for_products(faces, y, [&](Index, const Products& products) {
    for (Index k = 0; k < products.cols(); ++k) {
      ahead = ahead.max(products.col(k).array());
      behind = behind.min(products.col(k).array());
    }
  });
  Lanes radius, opposite;
  for (int i = 0; i < kLanes; ++i) radius[i] = 1.0 / static_cast<double>(ahead[i]);
  chi_tail(faces.rows(), radius, q);
  for (int i = 0; i < kLanes; ++i) radius[i] = -1.0 / static_cast<double>(behind[i]);
  chi_tail(faces.rows(), radius, opposite);
  for (int i = 0; i < kLanes; ++i) q[i] = 0.5 * (q[i] + opposite[i]);
}

/// Marks each face that is the nearest in some direction of the block.
void mark_nearest(const Faces& faces, const Directions& y, std::span<char> binds) {
  FloatLanes most = FloatLanes::Zero(), least = FloatLanes::Zero();
  Eigen::Array<std::int32_t, kLanes, 1> ahead, behind;
  ahead.setZero();
  behind.setZero();
  for_products(faces, y, [&](Index first, const Products& products) {
    for (Index k = 0; k < products.cols(); ++k) {
      const auto face = static_cast<std::int32_t>(first + k);
      const auto product = products.col(k).array();
      ahead = (product > most).select(face, ahead);
      behind = (product < least).select(face, behind);
      most = most.max(product);
      least = least.min(product);
    }
  });
  for (int i = 0; i < kLanes; ++i) binds[ahead[i]] = binds[behind[i]] = 1;
}

/// Mean over directions of a function that is evaluated on blocks of directions.
class Level {
 public:
  static constexpr std::int64_t kFirst = 128;  ///< points per shift

  Level(Index dimension, std::uint64_t seed, Arena& arena) : sphere_(dimension, seed, arena), mean_(kFirst) {}

  template <class Evaluate>
  void refine(const Evaluate& evaluate) {
    mean_.refine([&](const ShiftedLattice::Block& block, Lanes& p, Lanes& q) {
      Directions y;
      sphere_.directions(block, y);
      evaluate(y, q);
      for (int i = 0; i < kLanes; ++i) p[i] = 1.0 - q[i];
    });
  }

  const LatticeMean& mean() const { return mean_; }

  /// The benefit of the next level: the squared error that it may remove, per evaluation of a face.
  double worth(double error, Index faces) const {
    const double cost = static_cast<double>(mean_.next_points()) * static_cast<double>(faces);
    return mean_.exhausted() ? 0.0 : error * error / cost;
  }

 private:
  Sphere sphere_;
  LatticeMean mean_;
};

Faces scaled(std::span<const double> z, const Eigen::Ref<const Eigen::MatrixXd>& U, Arena& arena) {
  constexpr double kLeast = 1e-12;  // limits closer to 0 than this are raised to it
  Eigen::Map<Eigen::MatrixXf> faces(arena.take<float>(U.size()).data(), U.cols(), U.rows());
  for (Index k = 0; k < U.rows(); ++k) {
    faces.col(k) = (U.row(k) / (std::max(z[k], kLeast) * U.row(k).norm())).transpose().cast<float>();
  }
  return {faces.data(), faces.rows(), faces.cols()};
}

/// The faces that are the nearest in some of the first directions, and the number of lattice points used.
struct Look {
  Faces binding;
  std::int64_t points;
};

Look first_look(const Faces& faces, std::uint64_t seed, Arena& arena) {
  constexpr int kLevels = 3;
  const std::span<char> binds = arena.take<char>(faces.cols(), 0);
  Level look(faces.rows(), seed, arena);
  for (int i = 0; i < kLevels; ++i) {
    look.refine([&](const Directions& y, Lanes& q) {
      mark_nearest(faces, y, binds);
      q.fill(0.0);
    });
  }
  Eigen::Map<Eigen::MatrixXf> kept(arena.take<float>(faces.size()).data(), faces.rows(), faces.cols());
  Index count = 0;
  for (Index k = 0; k < faces.cols(); ++k) {
    if (binds[k]) kept.col(count++) = faces.col(k);
  }
  return {{kept.data(), kept.rows(), count}, look.mean().points()};
}

/// p of the binding faces (Look), minus a correction for all faces.
class TwoLevels {
 public:
  TwoLevels(const Faces& all, const Look& look, std::uint64_t seed, Arena& arena)
      : all_(all), few_(look.binding), looked_(look.points), main_(all.rows(), seed, arena), rest_(all.rows(), ~seed, arena) {
    refine_main();
    refine_rest();
  }

  double p() const { return main_.mean().p() - rest_.mean().q(); }
  double q() const { return main_.mean().q() + rest_.mean().q(); }
  double error() const { return std::hypot(sampling(main_), sampling(rest_)) + hidden() + rounding(); }
  std::int64_t points() const { return looked_ + main_.mean().points() + rest_.mean().points(); }

  /// Refines the level with the greater benefit. Returns false if neither can be refined, or if refinement would take more than
  /// max_points.
  bool refine(std::int64_t max_points) {
    const double worth_main = main_.worth(sampling(main_), few_.cols());
    const double worth_rest = rest_.worth(std::hypot(sampling(rest_), hidden()), few_.cols() + all_.cols());
    const bool first = worth_main >= worth_rest;
    const LatticeMean& next = (first ? main_ : rest_).mean();
    if (std::max(worth_main, worth_rest) <= 0.0 || points() + next.next_points() > max_points) return false;
    first ? refine_main() : refine_rest();
    return true;
  }

 private:
  static double sampling(const Level& level) { return kErrorFactor * level.mean().standard_error(); }

  /// Faces that are the nearest in none of n directions are the nearest in fewer than 3 / n of all directions, with 95%
  /// confidence (the rule of three). In these directions they reduce p by at most its current value.
  double hidden() const {
    return 3.0 * std::max(0.0, main_.mean().p()) / static_cast<double>(2 * (looked_ + rest_.mean().points()));
  }

  /// A relative error delta of a radius r changes q by delta r times the density of r, which is at most sqrt(d), and about r^2
  /// q for large r.
  double rounding() const {
    const auto d = static_cast<double>(all_.rows());
    return d * std::numeric_limits<float>::epsilon() * std::min(std::sqrt(d), 40.0 * q());
  }

  void refine_main() {
    main_.refine([&](const Directions& y, Lanes& q) { beyond(few_, y, q); });
  }

  void refine_rest() {
    rest_.refine([&](const Directions& y, Lanes& q) {
      Lanes without;
      beyond(all_, y, q);
      beyond(few_, y, without);
      for (int i = 0; i < kLanes; ++i) q[i] -= without[i];
    });
  }

  Faces all_, few_;
  std::int64_t looked_;
  Level main_, rest_;
};

}  // namespace

std::optional<Integral> directions(std::span<const double> z, const Eigen::Ref<const Eigen::MatrixXd>& U, const Goal& goal,
                                   Arena& arena) {
  constexpr std::uint64_t kNextStream = 0x9e3779b97f4a7c15ULL;
  constexpr Index kFewFaces = 4;  // the required number of faces that matter, per column
  constexpr double kLeast = 0.05;
  const Arena::Scope scope(arena);
  const Faces all = scaled(z, U, arena);
  const Look look = first_look(all, goal.seed, arena);
  if (look.binding.cols() < kFewFaces * all.rows()) return std::nullopt;
  TwoLevels levels(all, look, goal.seed + kNextStream, arena);
  if (levels.p() < kLeast) return std::nullopt;
  while (levels.error() > goal.target(levels.q())) {
    if (!levels.refine(goal.max_points)) break;
  }
  return Integral{levels.p(), levels.q(), levels.error(), levels.error(), levels.points()};
}

}  // namespace probust::normal
