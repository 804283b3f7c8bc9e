// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "probust/estimators/statistics/binomial.h"

namespace probust {

/// Two estimates of p = Phi(zeta) from the same noisy samples. The model's estimate of zeta is precise but has an unknown model
/// error; the share of samples that keep the target is unbiased but imprecise.
struct Evidence {
  double z = 0;          ///< the model's estimate of zeta
  double std_error = 0;  ///< sampling error of z
  std::int64_t survivors = 0, samples = 0;
  double model_error = 0;   ///< expected size of zeta - z for such models, without sampling error
  double efficiency = 0.5;  ///< largest share of the count's variance that the model may explain
};

struct Reconciled {
  double z;          ///< median of zeta
  double std_error;  ///< standard error of p: half the distance between the quantiles of p at Phi(-1) and Phi(1)
};

/// The posterior of zeta = z - b - e. The model error b has a prior of the given scale; the sampling error e of z is normal. An
/// estimator that is efficient under its model is uncorrelated with its difference from any unbiased estimator (Hausman,
/// "Specification tests in econometrics", Econometrica 1978). So that difference has variance v_count - v_z and depends only on
/// b: the count enters as a binomial likelihood with the number of samples that gives this variance. With few samples, the model
/// dominates; with many, the count.
Reconciled reconcile(const Evidence& evidence);

/// The 95% interval of p: between the 2.5% and 97.5% quantiles of the same posterior.
Interval reconciled_p95(const Evidence& evidence);

}  // namespace probust
