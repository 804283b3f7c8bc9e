// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "probust/noise/noise.h"
#include "probust/perturb/image.h"

// Filters and resampling of one plane of an image, for perturbations that are drawn on the processor.
namespace probust::perturb {

/// One channel, row-major.
struct Plane {
  std::int64_t rows = 0, columns = 0;
  std::vector<float> values;

  Plane(std::int64_t own_rows, std::int64_t own_columns);
  float* row(std::int64_t r) { return values.data() + r * columns; }
  const float* row(std::int64_t r) const { return values.data() + r * columns; }
};

/// A plane beyond its border: its nearest value, or its reflection about the outermost values (abcd -> dcb|abcd|cba) or about the
/// border itself (dcba|abcd|dcba).
enum class Edge : std::uint8_t { nearest, about_values, about_border };

/// The index from 0 to n - 1 of index i.
std::int64_t inside(std::int64_t i, std::int64_t n, Edge edge);

/// The value at a place between values, interpolated linearly.
float interpolated(const Plane& plane, double row, double column, Edge edge);

/// Blurred by a Gaussian with this standard deviation that ends after `radius` values.
Plane gaussian_blurred(const Plane& plane, double deviation, std::int64_t radius, Edge edge);

/// Blurred along a line from each pixel in a direction: half a Gaussian with 2 radius + 1 values at the nearest pixels.
Plane motion_blurred(const Plane& plane, std::int64_t radius, double deviation, double degrees);

/// The middle of the plane, 1 / factor of its size, enlarged to its size.
Plane enlarged(const Plane& plane, double factor);

/// Weighted sums of the pixels around each one; the kernel has an odd number of rows and columns.
Plane correlated(const Plane& plane, const Plane& kernel, Edge edge);

/// Another size: means of the pixels whose centres lie in the area of the new one, or the nearest pixel.
Plane resized(const Plane& plane, std::int64_t rows, std::int64_t columns);

/// A random fractal with values 0 to 1 by the diamond-square algorithm of Fournier, Fussell and Carpenter ("Computer rendering of
/// stochastic models", 1982): each size of detail is 1 / decay^2 as strong as twice its size. Cut from a periodic square.
Plane fractal(std::int64_t rows, std::int64_t columns, double decay, NoiseStream& random);

}  // namespace probust::perturb
