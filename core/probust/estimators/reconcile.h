// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "probust/estimators/binomial.h"

namespace probust {

/// What is known of a probability p = Phi(zeta) from one set of noisy copies: a model's estimate of zeta, precise but off by an
/// unknown model error, and how many of the same copies kept the target, imprecise but without bias.
struct Evidence {
  double z = 0;          ///< the model's zeta
  double std_error = 0;  ///< of z, from sampling
  std::int64_t kept = 0, samples = 0;
  double model_error = 0;   ///< scale of zeta - z that is expected of such models once sampling is put aside
  double efficiency = 0.5;  ///< at most this share of the variance of the count is taken as explained by the model
};

struct Reconciled {
  double z;          ///< median of zeta
  double std_error;  ///< of p: half the distance between its quantiles that lie a standard deviation from the median of a normal
  Interval p95;      ///< of p, between the 2.5% and 97.5% quantiles
};

/// The posterior of zeta = z - b - e. The model error b has a prior of the given scale; the sampling error e of z is normal.
/// An estimator that is efficient where its model holds is uncorrelated with its difference to any unbiased one (Hausman,
/// "Specification tests in econometrics", Econometrica 1978), so that difference has variance v_count - v_z and speaks of b
/// alone: the counts enter as a binomial likelihood of as many samples as have that variance. With few samples the model rules,
/// with many the counts do.
Reconciled reconcile(const Evidence& evidence);

}  // namespace probust
