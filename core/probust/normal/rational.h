// SPDX-License-Identifier: MIT
//
// The normal distribution in elementary steps without branches or calls, so that loops over them become vector instructions.
//
// Mills' ratio M(x) = P(X > x) / pdf(x) is smooth and slowly varying on [0, inf): (x + 2) M(x) is a polynomial of
// t = (x - 5.5) / (x + 5.5), as in Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in
// 0 <= x < inf", Mathematics of Computation 36 (1981). The coefficients here were computed for probust (error 4e-16).
//
// The quantile is algorithm AS 241 (PPND16): Wichura, "The percentage points of the normal distribution", Applied Statistics
// 37 (1988); three ranges, about 1e-15 relative.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "probust/base/host_device.h"

namespace probust::normal::rational {

/// Beyond this the smaller tail is not a normal floating-point number.
inline constexpr double kFar = 37.5;

/// std::min and std::max with arguments by value, because constants have no address on a GPU.
PROBUST_HOST_DEVICE inline double smaller(double a, double b) { return b < a ? b : a; }
PROBUST_HOST_DEVICE inline double larger(double a, double b) { return a < b ? b : a; }

/// a b + c, rounded once if the machine has an instruction for this, so results may differ between machines by rounding.
PROBUST_HOST_DEVICE inline double multiply_add(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return ::fma(a, b, c);
#elif defined(__FMA__)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// Horner's scheme, unrolled by recursion: compilers do not vectorise an outer loop around a longer inner one.
template <int N, int I = 0>
PROBUST_HOST_DEVICE inline double horner(const double (&coefficient)[N], double x) {
  if constexpr (I == N - 1) {
    return coefficient[I];
  } else {
    return multiply_add(horner<N, I + 1>(coefficient, x), x, coefficient[I]);
  }
}

PROBUST_HOST_DEVICE inline std::uint64_t bits(double x) {
  std::uint64_t word;
  std::memcpy(&word, &x, sizeof word);
  return word;
}

PROBUST_HOST_DEVICE inline double from_bits(std::uint64_t word) {
  double x;
  std::memcpy(&x, &word, sizeof x);
  return x;
}

/// exp(x) for x in [-708, 708], within 2 ulp.
PROBUST_HOST_DEVICE inline double exp(double x) {
  constexpr double kRound = 0x1.8p52;
  constexpr double kTaylor[] = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  const double rounded = multiply_add(x, 0x1.71547652b82fep+0, kRound);
  const double n = rounded - kRound;
  const double r = multiply_add(n, -0x1.ef35793c76730p-45, multiply_add(n, -0x1.62e42fefa3800p-1, x));
  return horner(kTaylor, r) * from_bits((bits(rounded) + 1023) << 52);
}

/// log(x) for a positive normal number, within 2 ulp (absolute 1e-16 near 1).
PROBUST_HOST_DEVICE inline double log(double x) {
  constexpr std::uint64_t kHalfRoot = 0x3fe6a09e667f3bcdULL;  // sqrt(1/2): mantissas are brought to [sqrt(1/2), sqrt(2))
  constexpr double kSeries[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                                1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  const std::uint64_t word = bits(x);
  const std::uint64_t exponent = (word - kHalfRoot + (1023ULL << 52)) >> 52;
  const double n = from_bits(exponent | 0x4330000000000000ULL) - (0x1p52 + 1023.0);
  const double f = from_bits(word - ((exponent - 1023) << 52)) - 1.0;
  const double s = f / (2.0 + f);
  return n * 0x1.ef35793c76730p-45 + 2.0 * s * horner(kSeries, s * s) + n * 0x1.62e42fefa3800p-1;
}

/// Mills' ratio for x >= 0.
PROBUST_HOST_DEVICE inline double mills_ratio(double x) {
  constexpr double kPolynomial[] = {
      1.3224223931782704,     -0.5538923693865131,    0.3688917546325955,     -0.20013837980443974,   0.07961313864854436,
      -0.013722572866671789,  -0.010420500082424377,  0.012172005281068472,   -0.0069296689202727425, 0.002409205580164122,
      -0.0003396035708776809, -0.0001367789035719232, 8.484836739208205e-05,  -7.684908682748478e-06, -8.89862766164069e-06,
      2.8733498780015047e-06, 7.179050384572645e-07,  -4.969401878809618e-07, -4.60941301111988e-08,  6.681076627543772e-08,
      1.8790261758680693e-09, -5.52731011184202e-09};
  const double inverse = 1.0 / ((x + 5.5) * (x + 2.0));  // one division instead of two
  return horner(kPolynomial, (x - 5.5) * (x + 2.0) * inverse) * ((x + 5.5) * inverse);
}

/// The density at x, |x| <= kFar.
PROBUST_HOST_DEVICE inline double density(double x) { return 0.3989422804014327 * exp(-0.5 * x * x); }

/// P(X > x) for 0 <= x <= kFar, relative error about 1e-15 (1 + x^2 / 8).
PROBUST_HOST_DEVICE inline double upper_tail(double x) { return density(x) * mills_ratio(x); }

/// P(X <= x) and P(X > x), both with relative accuracy; arguments are clamped to +-kFar.
PROBUST_HOST_DEVICE inline void cdf(double x, double& below, double& above) {
  const double distance = smaller(std::abs(x), kFar);
  const double tail = upper_tail(distance), rest = 1.0 - tail;
  below = x < 0.0 ? tail : rest;
  above = x < 0.0 ? rest : tail;
}

/// The quantile for |p - 1/2| <= 0.425, from p - 1/2.
PROBUST_HOST_DEVICE inline double quantile_central(double q) {
  constexpr double kTop[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
                             4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3};
  constexpr double kBottom[] = {1.0,
                                4.2313330701600911252e1,
                                6.8718700749205790830e2,
                                5.3941960214247511077e3,
                                2.1213794301586595867e4,
                                3.9307895800092710610e4,
                                2.8729085735721942674e4,
                                5.2264952788528545610e3};
  const double r = 0.180625 - q * q;
  return q * horner(kTop, r) / horner(kBottom, r);
}

/// |quantile| in a tail of mass exp(-r^2), 1.6 <= r <= 5.
PROBUST_HOST_DEVICE inline double quantile_tail(double r) {
  constexpr double kTop[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                             3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                             2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double kBottom[] = {1.0,
                                2.05319162663775882187e0,
                                1.67638483018380384940e0,
                                6.89767334985100004550e-1,
                                1.48103976427480074590e-1,
                                1.51986665636164571966e-2,
                                5.47593808499534494600e-4,
                                1.05075007164441684324e-9};
  return horner(kTop, r - 1.6) / horner(kBottom, r - 1.6);
}

/// |quantile| in a tail of mass exp(-r^2), 5 <= r <= 27.
PROBUST_HOST_DEVICE inline double quantile_far_tail(double r) {
  constexpr double kTop[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                             2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                             2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double kBottom[] = {1.0,
                                5.99832206555887937690e-1,
                                1.36929880922735805310e-1,
                                1.48753612908506148525e-2,
                                7.86869131145613259100e-4,
                                1.84631831751005468180e-5,
                                1.42151175831644588870e-7,
                                2.04426310338993978564e-15};
  return horner(kTop, r - 5.0) / horner(kBottom, r - 5.0);
}

/// The quantile of p in [0, 1], with branches; p is clamped to [1e-300, 1 - 1e-16].
PROBUST_HOST_DEVICE inline double quantile(double p) {
  const double centred = p - 0.5;
  if (centred >= -0.425 && centred <= 0.425) return quantile_central(centred);
  const double tail = larger(smaller(p, 1.0 - p), 1e-300);
  const double root = std::sqrt(-log(tail));
  const double magnitude = root > 5.0 ? quantile_far_tail(root) : quantile_tail(root);
  return centred < 0.0 ? -magnitude : magnitude;
}

}  // namespace probust::normal::rational
