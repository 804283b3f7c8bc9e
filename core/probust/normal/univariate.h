// SPDX-License-Identifier: MIT
//
// The standard normal distribution of one variable, to about 1e-15 relative in both tails.
#pragma once

namespace probust::normal {

/// Density, exp(-x^2 / 2) / sqrt(2 pi).
double pdf(double x);

/// P(X <= x). Relative accuracy holds in the lower tail down to the smallest double (x = -38).
double cdf(double x);

/// P(X > x), computed directly: complement(9) is 1.1e-19, not zero.
double complement(double x);

/// P(a < X <= b); 0 if b <= a. Nothing cancels if both ends are in the same tail.
double interval(double a, double b);

/// log P(X <= x), finite for every finite x whose square is finite.
double log_cdf(double x);

/// log P(X > x).
double log_complement(double x);

/// The x with P(X <= x) = p; -inf at 0, +inf at 1, NaN outside [0, 1].
double quantile(double p);

/// The x with P(X > x) = q, computed without forming 1 - q.
double quantile_complement(double q);

/// Mills' ratio P(X > x) / pdf(x) for x >= 0.
double mills_ratio(double x);

}  // namespace probust::normal
