// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/exec/executor.h"

namespace probust {

/// The maximum number of variables in a normal probability; more would take too long. If more rivals matter, the nearest ones are
/// used, and the note bounds the failure probability of the others.
inline constexpr std::size_t kMostRivals = 1000;

/// Mean [m] and covariance [m, m] of the margins under the noise.
struct MarginMoments {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
};

/// The multivariate normal problem of a linearised classifier: p_robust = Phi_R(z) (Lemma 1 of Han et al.).
struct NormalProblem {
  std::vector<double> z;           ///< g_i / (sigma |u_i|) for the rivals whose boundary can be crossed
  Eigen::MatrixXd R;               ///< correlations of those boundaries, u_i . u_j / (|u_i| |u_j|), if requested
  std::vector<std::int64_t> rows;  ///< the rows of these rivals in the linearization
  Eigen::VectorXd deviations;      ///< |u_i| of these rivals
  double left_out = 0;             ///< bound on what dropped rivals may add to the probability of failure
  bool always_fails = false;       ///< whether a margin without gradient is negative
  bool degenerate = false;         ///< whether there are rivals, but no margin has a gradient
  bool finite = true;              ///< false if a margin or gradient is NaN or infinite
};

/// What to compute: z and R, without rivals that cannot matter (for a normal CDF), or z alone, for all rivals.
enum class Wanted { z_and_R, all_z };

/// Converts margins and Gram matrix to z and R, at noise scale `sigma`.
///
/// A rival with a zero gradient never wins if its margin is positive and always wins if it is negative. If the margin is zero,
/// the lower class index wins, as in argmax. Such rivals do not enter z. If there are very many rivals, those whose boundaries
/// are too far away to matter are left out: the sum of their exact failure probabilities is at most 1e-5, and at most a
/// thousandth of that of the most likely rival (Boole's inequality). At most kMostRivals of the others are used.
NormalProblem normal_problem(const Linearization& linearization, std::int64_t target, double sigma,
                             Wanted wanted = Wanted::z_and_R);

/// The problem of normal margins with these moments: z_i is the mean of margin i divided by its standard deviation.
NormalProblem normal_problem(const MarginMoments& moments, std::int64_t target);

}  // namespace probust
