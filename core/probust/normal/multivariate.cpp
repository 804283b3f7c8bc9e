// SPDX-License-Identifier: MIT
//
// The ladder: what can be had exactly is, and the rest is sampled. The papers stand with the methods.
#include "probust/normal/multivariate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "probust/normal/bivariate.h"
#include "probust/normal/factor.h"
#include "probust/normal/one_factor.h"
#include "probust/normal/rare.h"
#include "probust/normal/separation.h"
#include "probust/normal/trivariate.h"
#include "probust/normal/univariate.h"

namespace probust::normal {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-8;            ///< entries of R and lengths of rows of U may be off by this
constexpr double kEigenvalueRounding = 1e-9;  ///< times m

/// Finite limits in ascending order, and the correlations among them.
struct Orthant {
  VectorXd z;
  MatrixXd R;
  double tails() const {
    double sum = 0.0;
    for (const double limit : z) sum += complement(limit);
    return sum;
  }
};

Probability failed(Status status) { return {kNan, kNan, kNan, kNan, "none", 0, status}; }

Probability answer(double p, double q, double error, double error_q, std::string_view method, std::int64_t points = 0) {
  return {std::clamp(p, 0.0, 1.0), std::clamp(q, 0.0, 1.0), error, error_q, method, points, Status::ok};
}

// ---- validation

Status check_options(const Options& options) {
  const bool sound = options.abs > 0.0 && options.rel_q > 0.0 && options.max_points > 0;
  return sound ? Status::ok : Status::bad_options;
}

Status check_limits(std::span<const double> z) {
  return std::any_of(z.begin(), z.end(), [](double limit) { return std::isnan(limit); }) ? Status::nonfinite : Status::ok;
}

Status check_correlation(const MatrixXd& R, Index m) {
  if (R.rows() != m || R.cols() != m) return Status::size_mismatch;
  if (!R.allFinite()) return Status::nonfinite;
  for (Index i = 0; i < m; ++i) {
    if (std::abs(R(i, i) - 1.0) > kRounding) return Status::bad_diagonal;
  }
  for (Index j = 0; j < m; ++j) {
    for (Index i = 0; i < j; ++i) {
      if (std::abs(R(i, j) - R(j, i)) > kRounding) return Status::asymmetric;
    }
  }
  return semidefinite(R, kEigenvalueRounding * static_cast<double>(std::max<Index>(m, 10))) ? Status::ok : Status::indefinite;
}

Status check_factor(const MatrixXd& U, Index m) {
  if (U.rows() != m) return Status::size_mismatch;
  if (!U.allFinite()) return Status::nonfinite;
  for (Index i = 0; i < m; ++i) {
    if (!(std::abs(U.row(i).norm() - 1.0) <= kRounding)) return Status::bad_diagonal;
  }
  return Status::ok;
}

// ---- choosing what matters

/// Indices of finite limits, ascending in z: what fails most comes first.
std::vector<Index> ascending(std::span<const double> z) {
  std::vector<Index> order;
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (z[i] < kInfinity) order.push_back(static_cast<Index>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return z[i] < z[j]; });
  return order;
}

/// The most limits that may be dropped from the end of an ascending sequence so that their tails sum to at most `budget`, and
/// that sum.
struct Dropped {
  Index kept;
  double mass;
};

Dropped droppable(const VectorXd& z, double budget) {
  Dropped dropped{z.size(), 0.0};
  while (dropped.kept > 1) {
    const double mass = dropped.mass + complement(z[dropped.kept - 1]);
    if (mass > budget) break;
    dropped.mass = mass;
    --dropped.kept;
  }
  return dropped;
}

void keep_first(Orthant& orthant, Index count) {
  if (count == orthant.z.size()) return;
  orthant.z = VectorXd(orthant.z.head(count));
  orthant.R = MatrixXd(orthant.R.topLeftCorner(count, count));
}

Orthant select(const Orthant& from, const std::vector<Index>& indices) {
  const Index count = static_cast<Index>(indices.size());
  Orthant to{VectorXd(count), MatrixXd(count, count)};
  for (Index j = 0; j < count; ++j) {
    to.z[j] = from.z[indices[j]];
    for (Index i = 0; i < count; ++i) to.R(i, j) = from.R(indices[i], indices[j]);
  }
  return to;
}

/// Drops variables that equal an earlier one up to rounding (its limit is the smaller), and returns what that may change.
double merge_duplicates(Orthant& orthant) {
  constexpr double kSame = 4e-15;
  double bias = 0.0;
  std::vector<Index> kept;
  for (Index j = 0; j < orthant.z.size(); ++j) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](Index i) { return 1.0 - orthant.R(i, j) <= kSame; });
    if (same == kept.end()) {
      kept.push_back(j);
      continue;
    }
    // X_j - X_i has standard deviation sqrt(2 (1 - R_ij)), and X_j must exceed its limit where X_i does not exceed its own.
    const double spread = std::sqrt(2.0 * std::max(0.0, 1.0 - orthant.R(*same, j)));
    if (orthant.z[j] - orthant.z[*same] < 9.0 * spread) bias += spread * pdf(orthant.z[*same]);
  }
  if (kept.size() < static_cast<std::size_t>(orthant.z.size())) orthant = select(orthant, kept);
  return bias;
}

/// Groups of variables with no correlation between groups.
std::vector<std::vector<Index>> independent_groups(const MatrixXd& R) {
  constexpr double kNone = 1e-15;
  const Index m = R.rows();
  std::vector<std::vector<Index>> groups;
  std::vector<char> placed(m, 0);
  for (Index start = 0; start < m; ++start) {
    if (placed[start]) continue;
    std::vector<Index> group{start};
    placed[start] = 1;
    for (std::size_t next = 0; next < group.size(); ++next) {
      for (Index j = 0; j < m; ++j) {
        if (placed[j] || std::abs(R(j, group[next])) <= kNone) continue;
        placed[j] = 1;
        group.push_back(j);
      }
    }
    std::sort(group.begin(), group.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

// ---- the steps of the ladder; each takes an orthant without duplicates

constexpr Index kTelescope = 128;          ///< its work grows with the cube, its preparation with the fourth power
constexpr double kRareTails = 0.5;         ///< sums of P(X_i > z_i): up to here telescope whatever the rank
constexpr double kTelescopeTails = 2.0;    ///< up to here where R has full rank
constexpr double kImportanceTails = 0.05;  ///< up to here importance sampling, where there are too many to telescope

/// Rounding of what is computed in closed form.
constexpr double kExact = 4e-15;

Probability solve_one(double z) {
  const double p = cdf(z), q = complement(z);
  return answer(p, q, kExact * p, kExact * q, "univariate");
}

Probability solve_two(const Orthant& orthant) {
  const Bivariate both = bivariate(orthant.z[0], orthant.z[1], orthant.R(0, 1));
  return answer(both.p, both.q, kExact, 10 * kExact * both.q, "bivariate", 1);
}

Probability from_integral(const Integral& integral, double bias, std::string_view method) {
  return answer(integral.p, integral.q, integral.error_p + kExact + bias, integral.error_q + 10 * kExact * integral.q + bias,
                method, integral.points);
}

std::optional<Probability> try_one_factor(const Orthant& orthant, const Options& options) {
  const auto factor = fit_one_factor(orthant.R, 1e-9);
  if (!factor) return std::nullopt;
  const double bias = one_factor_bias(orthant.z, *factor);
  if (bias > 0.01 * std::min(options.abs, options.rel_q * complement(orthant.z[0]))) return std::nullopt;
  return from_integral(one_factor(orthant.z, factor->loading), bias, "one-factor");
}

Probability solve_rare(const Orthant& orthant, const Options& options, bool few) {
  const Goal goal{options.abs, options.rel_q, options.seed, options.max_points};
  const RareFailure rare = few ? telescope(orthant.z, orthant.R, goal) : importance_sample(orthant.z, orthant.R, goal);
  return answer(1.0 - rare.q, rare.q, rare.error + kExact, rare.error, few ? "telescoping" : "alore", rare.points);
}

Probability solve_by_separation(const Orthant& orthant, const Options& options) {
  constexpr std::int64_t kFirstLevel = 32;
  Separation separation(orthant.z, orthant.R, options.seed, kFirstLevel);
  do separation.refine();
  while (separation.error() > std::min(options.abs, options.rel_q * separation.q()) && !separation.exhausted() &&
         separation.points() + separation.next_points() <= options.max_points);
  return answer(separation.p(), separation.q(), separation.error() + kExact, separation.error() + kExact * separation.q(),
                "separation", separation.points());
}

Probability solve(Orthant orthant, const Options& options);

/// Independent groups: probabilities multiply, and complements are joined without forming 1 minus anything small.
Probability solve_groups(const Orthant& orthant, const std::vector<std::vector<Index>>& groups, const Options& options) {
  Options share = options;
  share.abs /= static_cast<double>(groups.size());
  Probability joint = answer(1.0, 0.0, 0.0, 0.0, "blocks");
  for (const auto& group : groups) {
    const Probability part = solve(select(orthant, group), share);
    joint.p_fail += joint.p * part.p_fail;
    joint.p *= part.p;
    joint.error += part.error;
    joint.error_fail += part.error_fail;
    joint.points += part.points;
  }
  return joint;
}

bool full_rank(const MatrixXd& R) { return pivoted_cholesky(R).cols() == R.cols(); }

/// Where no exact step applies: drops what the asked accuracy does not need, then samples.
Probability solve_by_sampling(Orthant orthant, const Options& options) {
  constexpr double kShare = 0.1;  // of the asked accuracy, for what is dropped
  const double likeliest = complement(orthant.z[0]);
  const Dropped dropped = droppable(orthant.z, kShare * std::min(options.abs, options.rel_q * likeliest));
  if (dropped.kept < orthant.z.size()) {
    // q lies between that of the limits kept and that plus the mass dropped: answer the middle.
    keep_first(orthant, dropped.kept);
    Options rest = options;
    rest.abs *= 1.0 - kShare;
    rest.rel_q *= 1.0 - kShare;
    Probability part = solve(std::move(orthant), rest);
    const double half = 0.5 * dropped.mass;
    part.p = std::max(0.0, part.p - half);
    part.p_fail = std::min(1.0, part.p_fail + half);
    part.error += half;
    part.error_fail += half;
    return part;
  }
  // Measured: the telescoping sum wins wherever it is affordable; of the other two, importance sampling where failure is rare.
  const double tails = orthant.tails();
  if (orthant.z.size() <= kTelescope && (tails < kRareTails || (tails < kTelescopeTails && full_rank(orthant.R)))) {
    return solve_rare(orthant, options, true);
  }
  if (tails < kImportanceTails) return solve_rare(orthant, options, false);
  return solve_by_separation(orthant, options);
}

Probability solve(Orthant orthant, const Options& options) {
  if (orthant.z.size() == 1) return solve_one(orthant.z[0]);
  if (orthant.z.size() == 2) return solve_two(orthant);
  const auto groups = independent_groups(orthant.R);
  if (groups.size() > 1) return solve_groups(orthant, groups, options);
  if (const auto exact = try_one_factor(orthant, options)) return *exact;
  if (orthant.z.size() == 3) return from_integral(trivariate(orthant.z, orthant.R), 0.0, "trivariate");
  return solve_by_sampling(std::move(orthant), options);
}

/// What the steps share: infinite limits, limits beyond any double, duplicates, and the verdict at the end. `gram` fills the
/// correlations of the limits that are left.
template <class Gram>
Probability climb(std::span<const double> z, const Gram& gram, const Options& options) {
  if (std::any_of(z.begin(), z.end(), [](double limit) { return limit == -kInfinity; }))
    return answer(0.0, 1.0, 0.0, 0.0, "trivial");
  std::vector<Index> order = ascending(z);
  if (order.empty()) return answer(1.0, 0.0, 0.0, 0.0, "trivial");
  Orthant orthant{VectorXd(static_cast<Index>(order.size())), MatrixXd()};
  for (std::size_t i = 0; i < order.size(); ++i) orthant.z[static_cast<Index>(i)] = z[order[i]];

  const Dropped dropped = droppable(orthant.z, 1e-16 * complement(orthant.z[0]));
  order.resize(dropped.kept);
  orthant.z = VectorXd(orthant.z.head(dropped.kept));
  orthant.R = gram(order);
  const double bias = merge_duplicates(orthant) + dropped.mass;

  Probability result = solve(std::move(orthant), options);
  result.error += bias;
  result.error_fail += bias;
  const bool reached = result.error <= options.abs && result.error_fail <= options.rel_q * result.p_fail;
  result.status = reached || result.p_fail == 0.0 ? Status::ok : Status::not_reached;
  return result;
}

/// A symmetric correlation matrix in the order asked for, diagonal 1, entries within [-1, 1].
MatrixXd tidy(MatrixXd R) {
  for (Index j = 0; j < R.cols(); ++j) {
    for (Index i = 0; i < j; ++i) R(i, j) = R(j, i) = std::clamp(0.5 * (R(i, j) + R(j, i)), -1.0, 1.0);
    R(j, j) = 1.0;
  }
  return R;
}

/// Runs the body and turns what it throws (there is only want of memory) into a status.
template <class Body>
Probability without_throwing(const Body& body) {
  try {
    return body();
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
      return "the asked accuracy was not reached; the reported errors hold";
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
  }
  return "unknown status";
}

Probability mvn_cdf(std::span<const double> z, const MatrixXd& R, const Options& options) {
  return without_throwing([&]() -> Probability {
    for (const Status status : {check_options(options), check_correlation(R, static_cast<Index>(z.size())), check_limits(z)}) {
      if (status != Status::ok) return failed(status);
    }
    const auto gram = [&](const std::vector<Index>& order) {
      const Index count = static_cast<Index>(order.size());
      MatrixXd chosen(count, count);
      for (Index j = 0; j < count; ++j) {
        for (Index i = 0; i < count; ++i) chosen(i, j) = R(order[i], order[j]);
      }
      return tidy(std::move(chosen));
    };
    return climb(z, gram, options);
  });
}

Probability mvn_cdf_factor(std::span<const double> z, const MatrixXd& U, const Options& options) {
  return without_throwing([&]() -> Probability {
    for (const Status status : {check_options(options), check_factor(U, static_cast<Index>(z.size())), check_limits(z)}) {
      if (status != Status::ok) return failed(status);
    }
    const auto gram = [&](const std::vector<Index>& order) {
      MatrixXd rows(static_cast<Index>(order.size()), U.cols());
      for (std::size_t i = 0; i < order.size(); ++i) rows.row(static_cast<Index>(i)) = U.row(order[i]).normalized();
      return tidy(rows * rows.transpose());
    };
    return climb(z, gram, options);
  });
}

}  // namespace probust::normal
