// SPDX-License-Identifier: MIT
#pragma once

#include "probust/noise/noise.h"

namespace probust {

/// A draw from the Poisson distribution with this mean, as a whole number; 0 if the mean is not positive. Exact up to the 32 bits
/// of the stream's uniform numbers.
double poisson(double mean, NoiseStream& random);

}  // namespace probust
