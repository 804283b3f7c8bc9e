// SPDX-License-Identifier: MIT
//
// Randomised smoothing (Cohen, Rosenfeld and Kolter, "Certified adversarial robustness via randomized smoothing", ICML 2019,
// theorem 1 with p_B = 1 - p_A): if the target wins with probability at least p_low > 1/2 under isotropic Gaussian noise of scale
// sigma, it is the most likely prediction for noisy samples of every point within sigma Phi^-1(p_low) of x. This is a guarantee
// about the smoothed classifier, which predicts by a vote of noisy samples, not about the classifier itself; the nearest boundary
// (boundary.h) is a property of the latter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probust/analysis/groups.h"

namespace probust {

struct Certificate {
  const Row* row = nullptr;  ///< owned by the caller
  double p_low = 0;          ///< one-sided lower bound of p by Clopper and Pearson
  double radius = 0;         ///< 0 if p_low is at most 1/2: nothing is certified
};

struct GroupCertificates {
  GroupKey key;
  double confidence = 0.999;  ///< confidence of each point's bound, one-sided
  std::string reason{};       ///< if there are no certificates, the reason: another noise model, or no counts
  std::vector<Certificate> points{};
  std::int64_t certified = 0;  ///< points with a radius above 0

  /// The share of points, correctly classified or not, with a certified radius of at least `radius`; NaN without points.
  double share_beyond(double radius) const;
};

/// Certificates from rows of `mc:N` under Gaussian noise with one scale on all columns. Clipping and rounding count as
/// part of the classifier. The target is fixed before the samples are drawn, so the bound can use all of them. Cohen et al. use a
/// confidence of 0.999. Throws Error{usage} unless the confidence is between 0.5 and 1.
GroupCertificates certificates_of(const RowGroup& group, double confidence = 0.999);

}  // namespace probust
