// SPDX-License-Identifier: MIT
#include "probust/perturb/raster.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace probust::perturb {
namespace {

// The weights of half a Gaussian, from its middle outwards.
std::vector<double> half_gaussian(double deviation, std::int64_t radius) {
  std::vector<double> half(static_cast<std::size_t>(radius + 1), 1.0);
  for (std::int64_t i = 1; i <= radius; ++i) {
    const double t = static_cast<double>(i) / deviation;
    half[i] = std::exp(-t * t / 2);
  }
  return half;
}

Plane gaussian_kernel(double deviation, std::int64_t radius, bool upright) {
  const std::vector<double> half = half_gaussian(deviation, radius);
  double sum = 0;
  for (std::int64_t i = -radius; i <= radius; ++i) sum += half[std::abs(i)];
  const std::int64_t size = 2 * radius + 1;
  Plane kernel(upright ? size : 1, upright ? 1 : size);
  for (std::int64_t i = -radius; i <= radius; ++i) kernel.values[i + radius] = static_cast<float>(half[std::abs(i)] / sum);
  return kernel;
}

// The pixels along an axis, first .. end - 1, whose centres lie within one pixel of the resized image.
struct Cells {
  std::int64_t first, end;
};

// As in Pillow, a centre on the upper edge counts, and one on the lower edge does not. The order of operations is also that of
// Pillow, so that rounding has the same effect.
Cells cells_of(std::int64_t i, std::int64_t size, std::int64_t new_size) {
  const double scale = static_cast<double>(size) / static_cast<double>(new_size), width = std::max(scale, 1.0);
  const double middle = (static_cast<double>(i) + 0.5) * scale, reach = width / 2;
  const auto at = [&](double edge) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(edge + 0.5)), 0, size);
  };
  const auto covers = [&](std::int64_t j) {
    const double place = (static_cast<double>(j) - middle + 0.5) * (1 / width);
    return place > -0.5 && place <= 0.5;
  };
  Cells cells{at(middle - reach), at(middle + reach)};
  while (cells.first < cells.end && !covers(cells.first)) ++cells.first;
  while (cells.first < cells.end && !covers(cells.end - 1)) --cells.end;
  return cells.end > cells.first ? cells : Cells{std::min(cells.first, size - 1), std::min(cells.first, size - 1) + 1};
}

// Maps index i along an axis of an enlarged plane to a position in the original plane; both have size n.
class Magnifier {
 public:
  Magnifier(std::int64_t n, double factor) {
    const auto size = static_cast<double>(n), part = std::ceil(size / factor), enlarged = std::nearbyint(part * factor);
    begin_ = std::floor((size - part) / 2);
    trim_ = std::floor((enlarged - size) / 2);
    step_ = enlarged > 1 ? (part - 1) / (enlarged - 1) : 0;
  }
  double at(std::int64_t i) const { return begin_ + (static_cast<double>(i) + trim_) * step_; }

 private:
  double begin_, trim_, step_;
};

}  // namespace

Plane::Plane(std::int64_t own_rows, std::int64_t own_columns)
    : rows(own_rows), columns(own_columns), values(static_cast<std::size_t>(own_rows * own_columns), 0.0F) {}

std::int64_t inside(std::int64_t i, std::int64_t n, Edge edge) {
  if (i >= 0 && i < n) return i;
  if (edge == Edge::nearest || n == 1) return std::clamp<std::int64_t>(i, 0, n - 1);
  const std::int64_t period = edge == Edge::about_values ? 2 * n - 2 : 2 * n;
  i = (i % period + period) % period;
  return i < n ? i : edge == Edge::about_values ? period - i : period - 1 - i;
}

float interpolated(const Plane& plane, double row, double column, Edge edge) {
  constexpr double kFar = 1e6;  // far beyond any image
  row = std::clamp(row, -kFar, kFar);
  column = std::clamp(column, -kFar, kFar);
  const double top = std::floor(row), left = std::floor(column);
  const auto r = static_cast<std::int64_t>(top), c = static_cast<std::int64_t>(left);
  const auto down = static_cast<float>(row - top), right = static_cast<float>(column - left);
  const std::int64_t c0 = inside(c, plane.columns, edge), c1 = inside(c + 1, plane.columns, edge);
  const float *upper = plane.row(inside(r, plane.rows, edge)), *lower = plane.row(inside(r + 1, plane.rows, edge));
  const float above = upper[c0] + right * (upper[c1] - upper[c0]), below = lower[c0] + right * (lower[c1] - lower[c0]);
  return above + down * (below - above);
}

Plane correlated(const Plane& plane, const Plane& kernel, Edge edge) {
  const std::int64_t up = kernel.rows / 2, left = kernel.columns / 2;
  Plane padded(plane.rows + 2 * up, plane.columns + 2 * left), result(plane.rows, plane.columns);
  for (std::int64_t r = 0; r < padded.rows; ++r) {
    const float* from = plane.row(inside(r - up, plane.rows, edge));
    for (std::int64_t c = 0; c < padded.columns; ++c) padded.row(r)[c] = from[inside(c - left, plane.columns, edge)];
  }
  for (std::int64_t r = 0; r < plane.rows; ++r) {
    float* sum = result.row(r);
    for (std::int64_t i = 0; i < kernel.rows; ++i) {
      for (std::int64_t j = 0; j < kernel.columns; ++j) {
        const float weight = kernel.row(i)[j];
        if (weight == 0) continue;
        const float* from = padded.row(r + i) + j;
        for (std::int64_t c = 0; c < plane.columns; ++c) sum[c] += weight * from[c];
      }
    }
  }
  return result;
}

Plane gaussian_blurred(const Plane& plane, double deviation, std::int64_t radius, Edge edge) {
  if (radius == 0 || deviation <= 0) return plane;
  const Plane rows = correlated(plane, gaussian_kernel(deviation, radius, true), edge);
  return correlated(rows, gaussian_kernel(deviation, radius, false), edge);
}

Plane motion_blurred(const Plane& plane, std::int64_t radius, double deviation, double degrees) {
  const std::vector<double> weights = half_gaussian(deviation, 2 * radius);
  double sum = 0;
  for (const double weight : weights) sum += weight;
  const double angle = degrees * std::numbers::pi / 180;
  Plane result(plane.rows, plane.columns);
  for (std::int64_t i = 0; i <= 2 * radius; ++i) {
    const auto along = static_cast<double>(i);
    const auto down = static_cast<std::int64_t>(std::ceil(along * std::sin(angle) - 0.5));
    const auto right = static_cast<std::int64_t>(std::ceil(along * std::cos(angle) - 0.5));
    const auto weight = static_cast<float>(weights[i] / sum);
    for (std::int64_t r = 0; r < plane.rows; ++r) {
      const float* from = plane.row(inside(r + down, plane.rows, Edge::nearest));
      for (std::int64_t c = 0; c < plane.columns; ++c)
        result.row(r)[c] += weight * from[inside(c + right, plane.columns, Edge::nearest)];
    }
  }
  return result;
}

Plane enlarged(const Plane& plane, double factor) {
  const Magnifier rows(plane.rows, factor), columns(plane.columns, factor);
  Plane result(plane.rows, plane.columns);
  for (std::int64_t r = 0; r < plane.rows; ++r) {
    for (std::int64_t c = 0; c < plane.columns; ++c)
      result.row(r)[c] = interpolated(plane, rows.at(r), columns.at(c), Edge::nearest);
  }
  return result;
}

Plane resized(const Plane& plane, std::int64_t rows, std::int64_t columns) {
  Plane result(rows, columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    const Cells own_rows = cells_of(r, plane.rows, rows);
    for (std::int64_t c = 0; c < columns; ++c) {
      const Cells own = cells_of(c, plane.columns, columns);
      double sum = 0;
      for (std::int64_t i = own_rows.first; i < own_rows.end; ++i) {
        for (std::int64_t j = own.first; j < own.end; ++j) sum += double{plane.row(i)[j]};
      }
      result.row(r)[c] = static_cast<float>(sum / static_cast<double>((own_rows.end - own_rows.first) * (own.end - own.first)));
    }
  }
  return result;
}

Plane fractal(std::int64_t rows, std::int64_t columns, double decay, NoiseStream& random) {
  const auto size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(rows, columns))));
  Plane map(size, size);
  const auto at = [&](std::int64_t r, std::int64_t c) -> float& { return map.row(r & (size - 1))[c & (size - 1)]; };
  double strength = 1;
  for (std::int64_t step = size; step >= 2; step /= 2, strength /= decay * decay) {
    const std::int64_t half = step / 2;
    const auto moved = [&](float sum) { return sum / 4 + static_cast<float>(strength * (2 * random.uniform() - 1)); };
    for (std::int64_t r = half; r < size; r += step) {
      for (std::int64_t c = half; c < size; c += step)
        at(r, c) = moved(at(r - half, c - half) + at(r - half, c + half) + at(r + half, c - half) + at(r + half, c + half));
    }
    for (std::int64_t r = 0; r < size; r += half) {
      for (std::int64_t c = r % step == 0 ? half : 0; c < size; c += step)
        at(r, c) = moved(at(r - half, c) + at(r + half, c) + at(r, c - half) + at(r, c + half));
    }
  }
  const auto [lowest, highest] = std::minmax_element(map.values.begin(), map.values.end());
  const float low = *lowest, range = *highest > low ? *highest - low : 1.0F;
  Plane result(rows, columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) result.row(r)[c] = (at(r, c) - low) / range;
  }
  return result;
}

}  // namespace probust::perturb
