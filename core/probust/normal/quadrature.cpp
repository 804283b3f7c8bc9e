// SPDX-License-Identifier: MIT
#include "probust/normal/quadrature.h"

#include "probust/normal/univariate.h"

namespace probust::normal {

Breaks density_panels(double upper, double floor, std::span<const double> marks) {
  // Less than 1e-18 of the relevant mass lies beyond `reach` on either side. The relevant mass is q, at least `floor`.
  const double reach = std::clamp(quantile_complement(1e-18 * std::max(floor, 1e-285)), 9.0, 38.0);
  const double last = std::min(upper, reach);
  Breaks wanted;
  for (const double x : {-30.0, -24.0, -19.0, -15.0, -12.0, -9.5, -7.5, -5.5, -4.0, -2.5, -1.25, 0.0,
                         1.25,  2.5,   4.0,   5.5,   7.5,   9.5,  12.0, 15.0, 19.0, 24.0, 30.0}) {
    wanted.add(x);
  }
  for (const double x : marks) wanted.add(x);
  wanted.sort();
  Breaks breaks;
  breaks.add(-reach);
  for (int i = 0; i < wanted.size(); ++i) {
    if (wanted[i] > breaks.back() + 1e-12 && wanted[i] < last - 1e-12) breaks.add(wanted[i]);
  }
  if (last > breaks.back()) breaks.add(last);
  return breaks;
}

}  // namespace probust::normal
