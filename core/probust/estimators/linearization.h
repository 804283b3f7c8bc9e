// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "probust/base/linear_algebra.h"
#include "probust/exec/executor.h"

namespace probust {

/// A normal probability of more variables than this is not worth its time. If more rivals matter, the nearest are used, and the
/// note says what the others may add to p_fail.
inline constexpr std::size_t kMostRivals = 1000;

/// Mean [m] and covariance [m, m] of the margins under the noise.
struct MarginMoments {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
};

/// The multivariate normal problem of a linearised classifier: p_robust = Phi_R(z) (Lemma 1 of Han et al.).
struct NormalProblem {
  std::vector<double> z;           ///< g_i / (sigma |u_i|) for the rivals whose boundary can be crossed
  Eigen::MatrixXd R;               ///< u_i . u_j / (|u_i| |u_j|), the correlations of those boundaries, if wanted
  std::vector<std::int64_t> rows;  ///< which rivals these are, as rows of the linearization
  Eigen::VectorXd deviations;      ///< |u_i| of these
  double left_out = 0;             ///< the most that rivals left out may add to the probability of failure
  bool always_fails = false;       ///< a margin without gradient is lost
  bool degenerate = false;         ///< there are rivals, and no margin has a gradient
  bool finite = true;              ///< false if a margin or gradient is NaN or infinite
};

/// What a probability needs: z and R for a normal CDF, without rivals that cannot matter, or all z only.
enum class Wanted { z_and_R, all_z };

/// Margins and Gram matrix become z and R, at noise scale `sigma`.
///
/// A rival with a zero gradient is never reached if its margin is positive and always wins if it is negative; at a margin of zero
/// the lower class index wins, as in argmax. Such rivals do not enter z. If there are very many rivals, those whose boundaries
/// are too far away to matter are left out: their failure probabilities, each exact, add up to at most 1e-5 and to at most a
/// thousandth of the most probable one's (Boole's inequality). Of the rest, at most kMostRivals are used.
NormalProblem normal_problem(const Linearization& linearization, std::int64_t target, double sigma,
                             Wanted wanted = Wanted::z_and_R);

/// The same for normal margins with these moments: z_i is the mean of margin i divided by its standard deviation.
NormalProblem normal_problem(const MarginMoments& moments, std::int64_t target);

}  // namespace probust
