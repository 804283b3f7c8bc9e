// SPDX-License-Identifier: MIT
//
// Tries the methods in sequence: exact ones if possible, otherwise sampling. Each method's file cites its papers.
#include "probust/normal/multivariate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "probust/base/linear_algebra.h"
#include "probust/normal/bivariate.h"
#include "probust/normal/controlled.h"
#include "probust/normal/directions.h"
#include "probust/normal/factor.h"
#include "probust/normal/lattice.h"
#include "probust/normal/limits.h"
#include "probust/normal/one_factor.h"
#include "probust/normal/orthant.h"
#include "probust/normal/polygon.h"
#include "probust/normal/rare.h"
#include "probust/normal/separation.h"
#include "probust/normal/trivariate.h"
#include "probust/normal/univariate.h"

namespace probust::normal {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

double tails(const Orthant& orthant) {
  double sum = 0.0;
  for (Index i = 0; i < orthant.size; ++i) sum += complement(orthant.z(i));
  return sum;
}

Probability failed(Status status) { return {kNan, kNan, kNan, kNan, "none", 0, status}; }

Probability answer(double p, double q, double error, double error_q, std::string_view method, std::int64_t points = 0) {
  return {std::clamp(p, 0.0, 1.0), std::clamp(q, 0.0, 1.0), error, error_q, method, points, Status::ok};
}

bool reached(const Probability& result, const Options& options) {
  return result.error <= options.abs && result.error_fail <= options.rel_q * result.p_fail;
}

// ---- selecting the limits that matter

/// Indices of finite limits, ascending in z: the likeliest failures first.
std::span<Index> ascending(std::span<const double> z, Arena& arena) {
  const std::span<Index> order = arena.take<Index>(z.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (z[i] < kInfinity) order[count++] = static_cast<Index>(i);
  }
  std::sort(order.begin(), order.begin() + count, [&](Index i, Index j) { return z[i] < z[j] || (z[i] == z[j] && i < j); });
  return order.first(count);
}

/// The maximum number of limits that can be dropped from the end of an ascending sequence if the sum of their tails is at most
/// `budget`, and that sum.
struct Dropped {
  Index kept;
  double mass;
};

Dropped droppable(std::span<const double> z, double budget) {
  Dropped dropped{static_cast<Index>(z.size()), 0.0};
  while (dropped.kept > 1) {
    const double mass = dropped.mass + complement(z[dropped.kept - 1]);
    if (mass > budget) break;
    dropped.mass = mass;
    --dropped.kept;
  }
  return dropped;
}

/// The problem restricted to some of the variables.
Orthant select(const Orthant& from, std::span<const Index> indices, Arena& arena) {
  const Index size = static_cast<Index>(indices.size());
  const std::span<double> limits = arena.take<double>(size), correlations = arena.take<double>(size * size);
  for (Index j = 0; j < size; ++j) {
    limits[j] = from.z(indices[j]);
    for (Index i = 0; i < size; ++i) correlations[j * size + i] = from.rho(indices[i], indices[j]);
  }
  return {size, limits.data(), correlations.data(), size};
}

/// Drops each variable that equals an earlier one, whose limit is smaller, up to rounding. Returns by how much this may change p.
double merge_duplicates(Orthant& orthant, Arena& arena) {
  constexpr double kSame = 4e-15;
  double bias = 0.0;
  const std::span<Index> kept = arena.take<Index>(orthant.size);
  std::size_t count = 0;
  for (Index j = 0; j < orthant.size; ++j) {
    const auto end = kept.begin() + count;
    const auto same = std::find_if(kept.begin(), end, [&](Index i) { return 1.0 - orthant.rho(i, j) <= kSame; });
    if (same == end) {
      kept[count++] = j;
      continue;
    }
    // X_j - X_i has standard deviation sqrt(2 (1 - R_ij)). Dropping X_j is wrong only if X_j is above its limit while X_i is
    // within its own.
    const double spread = std::sqrt(2.0 * std::max(0.0, 1.0 - orthant.rho(*same, j)));
    if (orthant.z(j) - orthant.z(*same) < 9.0 * spread) bias += spread * pdf(orthant.z(*same));
  }
  if (count < kept.size()) orthant = select(orthant, kept.first(count), arena);
  return bias;
}

/// Groups of variables with no correlation between groups: members[begin[g] .. begin[g + 1]) is group g, in ascending order.
struct Groups {
  std::span<Index> members, begin;
  std::size_t count;
  std::span<const Index> operator[](std::size_t g) const { return members.subspan(begin[g], begin[g + 1] - begin[g]); }
};

Groups independent_groups(const Orthant& orthant, Arena& arena) {
  constexpr double kNone = 1e-15;
  const Index m = orthant.size;
  Groups groups{arena.take<Index>(m), arena.take<Index>(m + 1), 0};
  const std::span<char> placed = arena.take<char>(m, 0);
  Index filled = 0;
  for (Index start = 0; start < m; ++start) {
    if (placed[start]) continue;
    groups.begin[groups.count++] = filled;
    Index next = filled;
    groups.members[filled++] = start;
    placed[start] = 1;
    for (; next < filled; ++next) {
      const double* const rho = orthant.column(groups.members[next]);
      for (Index j = 0; j < m; ++j) {
        if (placed[j] || std::abs(rho[j]) <= kNone) continue;
        placed[j] = 1;
        groups.members[filled++] = j;
      }
    }
    std::sort(groups.members.begin() + groups.begin[groups.count - 1], groups.members.begin() + filled);
  }
  groups.begin[groups.count] = m;
  return groups;
}

// ---- the methods, in the order in which they are tried; each gets an orthant without duplicates

/// The maximum number of limits for telescoping: the work grows with the cube, and the preparation with the fourth power.
constexpr Index kTelescope = 128;
constexpr double kRareTails = 0.5;         ///< telescopes up to this sum of P(X_i > z_i), for any rank
constexpr double kTelescopeTails = 2.0;    ///< telescopes up to this sum if R has full rank
constexpr Index kControlFrom = 24;         ///< with fewer limits, plain separation is fast
constexpr Index kControlTo = 400;          ///< preparation time grows with the cube
constexpr double kControlTails = 0.005;    ///< lower limit of the sum of tails, because the method's error is absolute
constexpr double kShareToDrop = 0.1;       ///< share of the tolerance spent on dropping limits that hardly matter
constexpr double kDirectionTails = 0.003;  ///< if failure is rarer, only few directions matter
constexpr double kImportanceTails = 0.05;  ///< up to this sum, uses importance sampling if there are too many limits to telescope

/// Rounding error of closed forms.
constexpr double kExact = 4e-15;

Probability solve_one(double z) {
  const double p = cdf(z), q = complement(z);
  return answer(p, q, kExact * p, kExact * q, "univariate");
}

Probability solve_two(const Orthant& orthant) {
  const Bivariate both = bivariate(orthant.z(0), orthant.z(1), orthant.rho(0, 1));
  return answer(both.p, both.q, kExact, 10 * kExact * both.q, "bivariate", 1);
}

Probability from_integral(const Integral& integral, double bias, std::string_view method) {
  return answer(integral.p, integral.q, integral.error_p + kExact + bias, integral.error_q + 10 * kExact * integral.q + bias,
                method, integral.points);
}

Probability solve_three(const Orthant& orthant) {
  return from_integral(trivariate(orthant.z().head<3>(), orthant.R().topLeftCorner<3, 3>()), 0.0, "trivariate");
}

std::optional<Probability> try_one_factor(const Orthant& orthant, const Options& options, Arena& arena) {
  const Arena::Scope scope(arena);
  const auto factor = fit_one_factor(orthant, 1e-9, arena);
  if (!factor) return std::nullopt;
  const std::span<const double> z(orthant.limits, orthant.size);
  const double bias = one_factor_bias(z, *factor);
  if (bias > 0.01 * std::min(options.abs, options.rel_q * complement(z[0]))) return std::nullopt;
  return from_integral(one_factor(z, factor->loading, arena), bias, "one-factor");
}

/// Bound on the effect of treating residual variances that are rounding errors as zero.
double left_by_rounding(const Orthant& orthant, const GrowingCholesky& cholesky) {
  double bias = 0.0;
  for (Index i = 0; i < orthant.size; ++i) bias += std::sqrt(std::max(0.0, cholesky.residual(i))) * pdf(orthant.z(i));
  return bias;
}

std::optional<Probability> try_polygon(const Orthant& orthant, Arena& arena) {
  const Arena::Scope scope(arena);
  const GrowingCholesky cholesky = pivoted_cholesky(orthant, arena, 2);
  if (!cholesky.complete() || cholesky.rank() < 2) return std::nullopt;
  Eigen::Map<MatrixXd> factor(arena.take<double>(2 * orthant.size).data(), orthant.size, 2);
  for (Index i = 0; i < orthant.size; ++i) factor.row(i) << cholesky.entry(i, 0), cholesky.entry(i, 1);
  const double bias = left_by_rounding(orthant, cholesky);
  return from_integral(polygon({orthant.limits, static_cast<std::size_t>(orthant.size)}, factor, arena), bias, "polygon");
}

Goal goal_of(const Options& options) { return {options.abs, options.rel_q, options.seed, options.max_points, options.stop}; }

/// Requires ascending limits and rows of U of length 1. `bias` is the error from the part of R that U does not represent.
std::optional<Probability> try_directions(std::span<const double> z, const Matrix& U, double bias, const Options& options,
                                          Arena& arena) {
  constexpr double kFinest = 2e-6;  // smallest error that single precision allows
  const auto narrow = [&](Index limits) { return U.cols() <= kMostColumns && limits >= kLimitsPerColumn * U.cols(); };
  if (z[0] < 0.0 || U.cols() < 3 || !narrow(static_cast<Index>(z.size()))) return std::nullopt;
  const double finest = std::min(options.abs, options.rel_q * complement(z[0]));
  const Dropped dropped = droppable(z, kShareToDrop * finest);
  const std::span<const double> kept = z.first(dropped.kept);
  const double sum =
      std::accumulate(kept.begin(), kept.end(), 0.0, [](double all, double limit) { return all + complement(limit); });
  if (!narrow(dropped.kept) || finest < kFinest || sum < kDirectionTails) return std::nullopt;
  Goal goal = goal_of(options);
  goal.abs *= 1.0 - kShareToDrop;
  goal.rel_q *= 1.0 - kShareToDrop;
  std::optional<Integral> integral = directions(kept, U.topRows(dropped.kept), goal, arena);
  if (!integral) return std::nullopt;
  integral->p -= 0.5 * dropped.mass;
  integral->q += 0.5 * dropped.mass;
  return from_integral(*integral, 0.5 * dropped.mass + bias, "directions");
}

std::optional<Probability> try_directions(const Orthant& orthant, const Options& options, Arena& arena) {
  const Arena::Scope scope(arena);
  const Index most = std::min(kMostColumns, orthant.size / kLimitsPerColumn);
  const GrowingCholesky cholesky = pivoted_cholesky(orthant, arena, most);
  if (!cholesky.complete()) return std::nullopt;
  Eigen::Map<MatrixXd> factor(arena.take<double>(orthant.size * cholesky.rank()).data(), orthant.size, cholesky.rank());
  for (Index axis = 0; axis < factor.cols(); ++axis) {
    for (Index i = 0; i < factor.rows(); ++i) factor(i, axis) = cholesky.entry(i, axis);
  }
  const double bias = left_by_rounding(orthant, cholesky);
  return try_directions({orthant.limits, static_cast<std::size_t>(orthant.size)}, factor, bias, options, arena);
}

Probability solve_rare(const Orthant& orthant, const Options& options, bool few, Arena& arena) {
  const Goal goal = goal_of(options);
  const RareFailure rare = few ? telescope(orthant, goal, arena) : importance_sample(orthant, goal, arena);
  return answer(1.0 - rare.q, rare.q, rare.error + kExact, rare.error, few ? "telescoping" : "alore", rare.points);
}

Probability solve_by_separation(const Orthant& orthant, const Options& options, Arena& arena) {
  constexpr std::int64_t kFirstLevel = 32;
  const Arena::Scope scope(arena);
  Separation separation(orthant, options.seed, kFirstLevel, arena);
  do separation.refine(options.stop);
  while (separation.error() > std::min(options.abs, options.rel_q * separation.q()) && !separation.exhausted() &&
         separation.points() + separation.next_points() <= options.max_points);
  return answer(separation.p(), separation.q(), separation.error() + kExact, separation.error() + kExact * separation.q(),
                "separation", separation.points());
}

Probability solve(const Orthant& orthant, const Options& options, Arena& arena);

/// Solves independent groups: multiplies their probabilities, and combines their complements without computing 1 minus a small
/// number.
Probability solve_groups(const Orthant& orthant, const Groups& groups, const Options& options, Arena& arena) {
  Options share = options;
  share.abs /= static_cast<double>(groups.count);
  share.max_points = std::max<std::int64_t>(1, options.max_points / static_cast<std::int64_t>(groups.count));
  Probability joint = answer(1.0, 0.0, 0.0, 0.0, "blocks");
  for (std::size_t g = 0; g < groups.count; ++g) {
    const Arena::Scope scope(arena);
    const Probability part = solve(select(orthant, groups[g], arena), share, arena);
    joint.error_fail = joint.error_fail * (part.p + part.error) + joint.p * part.error_fail;
    joint.error = joint.error * (part.p + part.error) + joint.p * part.error;
    joint.p_fail += joint.p * part.p_fail;
    joint.p *= part.p;
    joint.points += part.points;
  }
  return joint;
}

bool full_rank(const Orthant& orthant, Arena& arena) {
  const Arena::Scope scope(arena);
  return pivoted_cholesky(orthant, arena).rank() == orthant.size;
}

/// If no exact method applies, drops the limits that the tolerance does not require, then samples.
Probability solve_by_sampling(const Orthant& orthant, const Options& options, Arena& arena) {
  const double likeliest = complement(orthant.z(0));
  const Dropped dropped = droppable({orthant.limits, static_cast<std::size_t>(orthant.size)},
                                    kShareToDrop * std::min(options.abs, options.rel_q * likeliest));
  if (dropped.kept < orthant.size) {
    // q lies between the q of the remaining limits and that q plus the dropped mass; the middle is returned.
    Options rest = options;
    rest.abs *= 1.0 - kShareToDrop;
    rest.rel_q *= 1.0 - kShareToDrop;
    Probability part = solve(orthant.first(dropped.kept), rest, arena);
    const double half = 0.5 * dropped.mass;
    part.p = std::max(0.0, part.p - half);
    part.p_fail = std::min(1.0, part.p_fail + half);
    part.error += half;
    part.error_fail += half;
    return part;
  }
  // In measurements, the telescoping sum was fastest if affordable, except with many limits and failure that is not rare: there,
  // control variates are faster if a few points are enough. If telescoping is too expensive, importance sampling is fastest for
  // rare failure.
  const double sum = tails(orthant);
  const bool few = orthant.size <= kTelescope && sum < kTelescopeTails;
  if (orthant.size >= kControlFrom && orthant.size <= kControlTo && sum > kControlTails) {
    const double affordable = few ? (sum < kRareTails ? 10.0 : 80.0) * static_cast<double>(orthant.size) : kInfinity;
    if (const auto sampled = controlled_separation(orthant, goal_of(options), affordable, arena)) {
      return answer(sampled->p, 1.0 - sampled->p, sampled->error, sampled->error, "controlled", sampled->points);
    }
  }
  if (few && (sum < kRareTails || full_rank(orthant, arena))) {
    const Probability sum_of_terms = solve_rare(orthant, options, true, arena);
    if (reached(sum_of_terms, options)) return sum_of_terms;
    const Probability whole = solve_by_separation(orthant, options, arena);
    return whole.error < sum_of_terms.error ? whole : sum_of_terms;
  }
  if (sum < kImportanceTails) return solve_rare(orthant, options, false, arena);
  return solve_by_separation(orthant, options, arena);
}

Probability solve(const Orthant& orthant, const Options& options, Arena& arena) {
  if (orthant.size == 1) return solve_one(orthant.z(0));
  if (orthant.size == 2) return solve_two(orthant);
  const Arena::Scope scope(arena);
  const Groups groups = independent_groups(orthant, arena);
  if (groups.count > 1) return solve_groups(orthant, groups, options, arena);
  if (const auto exact = try_one_factor(orthant, options, arena)) return *exact;
  if (const auto exact = try_polygon(orthant, arena)) return *exact;
  if (orthant.size == 3) return solve_three(orthant);
  if (const auto sampled = try_directions(orthant, options, arena)) return *sampled;
  return solve_by_sampling(orthant, options, arena);
}

/// Whether the rank of U is at most two, up to rounding. Rank two has its own exact method (polygon.h). The trace that remains
/// after two steps of the Cholesky decomposition of UᵀU is at least the third eigenvalue.
bool rank_below_three(const Matrix& U, Arena& arena) {
  constexpr double kNone = 1e-12;
  const Index d = U.cols();
  Eigen::Map<MatrixXd> products(arena.take<double>(d * d).data(), d, d);
  for (Index j = 0; j < d; ++j) {
    for (Index i = 0; i <= j; ++i) products(i, j) = products(j, i) = U.col(i).dot(U.col(j));
  }
  const GrowingCholesky two = pivoted_cholesky({d, nullptr, products.data(), d}, arena, 2);
  double left = 0;
  for (Index i = 0; i < d; ++i) left += two.residual(i);
  return left <= kNone * static_cast<double>(U.rows());
}

/// Makes a correlation matrix exactly symmetric, with ones on the diagonal and entries within [-1, 1].
void tidy(Eigen::Map<MatrixXd>& R) {
  for (Index j = 0; j < R.cols(); ++j) {
    for (Index i = 0; i < j; ++i) R(i, j) = R(j, i) = std::clamp(0.5 * (R(i, j) + R(j, i)), -1.0, 1.0);
    R(j, j) = 1.0;
  }
}

Probability judged(Probability result, const Options& options) {
  result.status = reached(result, options) ? Status::ok : Status::not_reached;
  return result;
}

/// The steps that all methods share: drops infinite limits, limits too large to matter in double precision, and duplicates, and
/// sets the final status. `gram` computes the correlations of the remaining limits.
template <class Gram>
Probability climb(std::span<const double> z, const Gram& gram, const Options& options, Arena& arena) {
  if (std::any_of(z.begin(), z.end(), [](double limit) { return limit == -kInfinity; }))
    return answer(0.0, 1.0, 0.0, 0.0, "trivial");
  const Arena::Scope scope(arena);
  std::span<const Index> order = ascending(z, arena);
  if (order.empty()) return answer(1.0, 0.0, 0.0, 0.0, "trivial");
  const std::span<double> limits = arena.take<double>(order.size());
  std::transform(order.begin(), order.end(), limits.begin(), [&](Index i) { return z[i]; });
  const Dropped dropped = droppable(limits, 1e-16 * complement(limits[0]));
  order = order.first(dropped.kept);

  Eigen::Map<MatrixXd> R(arena.take<double>(order.size() * order.size()).data(), dropped.kept, dropped.kept);
  gram(order, R);
  tidy(R);
  Orthant orthant{dropped.kept, limits.data(), R.data(), dropped.kept};
  const double bias = merge_duplicates(orthant, arena) + dropped.mass;

  Probability result = solve(orthant, options, arena);
  result.error += bias;
  result.error_fail += bias;
  return judged(result, options);
}

/// If U has few columns, tries a method that works on U, before any correlation is computed. Empty if the rank is below three or
/// if few limits matter.
std::optional<Probability> climb_directly(std::span<const double> z, const Matrix& U, const Options& options, Arena& arena) {
  const Index d = U.cols();
  if (d < 2 || d > kMostColumns || z.size() < 4) return std::nullopt;
  if (std::any_of(z.begin(), z.end(), [](double limit) { return limit == -kInfinity; })) return std::nullopt;
  const Arena::Scope scope(arena);
  const std::span<Index> order = ascending(z, arena);
  if (order.size() < 4) return std::nullopt;
  const std::span<double> limits = arena.take<double>(order.size());
  Eigen::Map<MatrixXd> rows(arena.take<double>(order.size() * d).data(), static_cast<Index>(order.size()), d);
  for (Index i = 0; i < rows.rows(); ++i) {
    limits[i] = z[order[i]];
    rows.row(i) = U.row(order[i]);
  }
  if (d == 2) return from_integral(polygon(limits, rows, arena), 0.0, "polygon");
  if (rank_below_three(rows, arena)) return std::nullopt;
  return try_directions(limits, rows, 0.0, options, arena);
}

/// Runs the body and turns exceptions (only std::bad_alloc and Stopped are possible) into a status.
template <class Body>
Probability without_throwing(const Body& body) {
  try {
    return body();
  } catch (const Stopped&) {
    return failed(Status::interrupted);
  } catch (...) {
    return failed(Status::out_of_memory);
  }
}

}  // namespace

std::string_view describe(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::not_reached:
      return "the requested accuracy was not reached; the reported errors are valid";
    case Status::size_mismatch:
      return "sizes of z and of R or U do not match";
    case Status::nonfinite:
      return "NaN in z, or NaN or infinity in R or U";
    case Status::bad_diagonal:
      return "the diagonal of R, or the length of a row of U, is not 1";
    case Status::asymmetric:
      return "R is not symmetric";
    case Status::indefinite:
      return "R is indefinite: it has a negative eigenvalue";
    case Status::bad_options:
      return "tolerances and max_points must be positive";
    case Status::out_of_memory:
      return "out of memory";
    case Status::interrupted:
      return "interrupted";
  }
  return "unknown status";
}

Probability Solver::cdf(std::span<const double> z, const Matrix& R, const Options& options) {
  return without_throwing([&]() -> Probability {
    const Index m = static_cast<Index>(z.size());
    for (const Status status : {check_options(options), check_correlation(R, m, arena_), check_limits(z)}) {
      if (status != Status::ok) return failed(status);
    }
    const auto gram = [&](std::span<const Index> order, Eigen::Map<MatrixXd>& chosen) {
      for (Index j = 0; j < chosen.cols(); ++j) {
        for (Index i = 0; i < chosen.rows(); ++i) chosen(i, j) = R(order[i], order[j]);
      }
    };
    return climb(z, gram, options, arena_);
  });
}

Probability Solver::cdf_factor(std::span<const double> z, const Matrix& U, const Options& options) {
  return without_throwing([&]() -> Probability {
    for (const Status status : {check_options(options), check_factor(U, static_cast<Index>(z.size())), check_limits(z)}) {
      if (status != Status::ok) return failed(status);
    }
    if (const auto direct = climb_directly(z, U, options, arena_)) return judged(*direct, options);
    const auto gram = [&](std::span<const Index> order, Eigen::Map<MatrixXd>& chosen) {
      Eigen::Map<MatrixXd> rows(arena_.take<double>(chosen.rows() * U.cols()).data(), chosen.rows(), U.cols());
      for (Index i = 0; i < rows.rows(); ++i) rows.row(i) = U.row(order[i]) / U.row(order[i]).norm();
      gram_of_rows(rows, chosen);
    };
    return climb(z, gram, options, arena_);
  });
}

Probability mvn_cdf(std::span<const double> z, const Matrix& R, const Options& options) { return Solver().cdf(z, R, options); }

Probability mvn_cdf_factor(std::span<const double> z, const Matrix& U, const Options& options) {
  return Solver().cdf_factor(z, U, options);
}

}  // namespace probust::normal
