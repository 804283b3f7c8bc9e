// SPDX-License-Identifier: MIT
#include "probust/normal/quadrature.h"

#include "probust/normal/univariate.h"

namespace probust::normal {

std::vector<double> density_panels(double upper, double floor, std::vector<double> marks) {
  // Beyond `reach` on either side lies less than 1e-18 of what matters. q is at least `floor`, so both ends follow from it.
  const double reach = std::clamp(quantile_complement(1e-18 * std::max(floor, 1e-285)), 9.0, 38.0);
  const double last = std::min(upper, reach);
  std::vector<double> breaks;
  for (const double x : {-30.0, -24.0, -19.0, -15.0, -12.0, -9.5, -7.5, -5.5, -4.0, -2.5, -1.25, 0.0,
                         1.25,  2.5,   4.0,   5.5,   7.5,   9.5,  12.0, 15.0, 19.0, 24.0, 30.0}) {
    marks.push_back(x);
  }
  std::sort(marks.begin(), marks.end());
  breaks.push_back(-reach);
  for (const double x : marks) {
    if (x > breaks.back() + 1e-12 && x < last - 1e-12) breaks.push_back(x);
  }
  if (last > breaks.back()) breaks.push_back(last);
  return breaks;
}

}  // namespace probust::normal
