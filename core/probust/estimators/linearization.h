// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>
#include <vector>

#include "probust/exec/executor.h"

namespace probust {

/// A normal probability of more variables than this takes longer than it is worth: of more rivals that matter, those that
/// threaten most are taken, and what the others may add to the failure is said.
inline constexpr std::size_t kMostRivals = 1000;

/// The multivariate normal problem that a linearised classifier poses: p_robust = Phi_R(z) (Lemma 1 of Han et al.).
struct NormalProblem {
  std::vector<double> z;           ///< g_i / (sigma |u_i|) for the rivals whose boundary can be crossed
  Eigen::MatrixXd R;               ///< u_i . u_j / (|u_i| |u_j|), the correlations of those boundaries, where they are wanted
  std::vector<std::int64_t> rows;  ///< which rivals these are, as rows of the linearization
  Eigen::VectorXd deviations;      ///< |u_i| of these
  double left_out = 0;             ///< what rivals that were left out may add to the probability of failure, at most
  bool always_fails = false;       ///< a boundary that the noise cannot move has the point on its wrong side
  bool degenerate = false;         ///< there are rivals, and no margin has a gradient
  bool finite = true;              ///< false where a margin or gradient is NaN or infinite
};

/// What a probability is made of: a normal CDF of z and R, with rivals left out that cannot matter to it, or of all z alone.
enum class Wanted { z_and_R, all_z };

/// The one place where margins and Gram matrix become z and R, at noise scale `sigma`.
///
/// A rival with a zero gradient is never reached if its margin is positive and always wins if it is negative; at a margin of zero
/// the lower class index wins, as it does in argmax. Neither enters z. Where there are very many rivals, those whose boundaries
/// are too far away to matter are left out: their failure probabilities, each exact by itself, add up to at most 1e-5 and a
/// thousandth of the most probable one's (Boole's inequality).
NormalProblem normal_problem(const Linearization& linearization, std::int64_t target, double sigma,
                             Wanted wanted = Wanted::z_and_R);

}  // namespace probust
