// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "probust/noise/noise.h"
#include "probust/perturb/image.h"

// Filters and resampling of one plane of an image, for perturbations that are drawn on the CPU.
namespace probust::perturb {

/// One channel, row-major.
struct Plane {
  std::int64_t rows = 0, columns = 0;
  std::vector<float> values;

  Plane(std::int64_t own_rows, std::int64_t own_columns);
  float* row(std::int64_t r) { return values.data() + r * columns; }
  const float* row(std::int64_t r) const { return values.data() + r * columns; }
};

/// How a plane continues beyond its border: with the nearest value, or reflected about the outermost values (dcb|abcd|cba) or
/// about the border itself (dcba|abcd|dcba).
enum class Edge : std::uint8_t { nearest, about_values, about_border };

/// The index, from 0 to n - 1, of the value to read at index i, which may be beyond the border.
std::int64_t inside(std::int64_t i, std::int64_t n, Edge edge);

/// The value at a position between pixels, interpolated linearly.
float interpolated(const Plane& plane, double row, double column, Edge edge);

/// The plane blurred by a Gaussian with this standard deviation, cut off at `radius` pixels.
Plane gaussian_blurred(const Plane& plane, double deviation, std::int64_t radius, Edge edge);

/// The plane blurred in one direction: each pixel becomes the mean of the 2 radius + 1 pixels nearest to a line that starts
/// there, with the weights of half a Gaussian.
Plane motion_blurred(const Plane& plane, std::int64_t radius, double deviation, double degrees);

/// The central part of the plane, 1 / factor of its size along each axis, enlarged to the full size.
Plane enlarged(const Plane& plane, double factor);

/// Weighted sums of the pixels around each one; the kernel has an odd number of rows and columns.
Plane correlated(const Plane& plane, const Plane& kernel, Edge edge);

/// The plane at another size: a new pixel is the mean of the pixels whose centres lie in its area or, if there are none, the
/// nearest pixel.
Plane resized(const Plane& plane, std::int64_t rows, std::int64_t columns);

/// A random fractal with values from 0 to 1 by the diamond-square algorithm of Fournier, Fussell and Carpenter ("Computer
/// rendering of stochastic models", 1982): halving the size of details divides their strength by decay^2. The result is cut from
/// a periodic square.
Plane fractal(std::int64_t rows, std::int64_t columns, double decay, NoiseStream& random);

}  // namespace probust::perturb
