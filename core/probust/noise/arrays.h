// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "probust/base/error.h"
#include "probust/noise/noise.h"

// Functions for noise models that are given as arrays.
namespace probust {

/// The same numbers for all points, or one row per point.
struct PerPoint {
  std::vector<float> values;
  std::int64_t elements;  ///< elements of a point
  std::int64_t width;     ///< numbers per row
  bool varies;            ///< whether there is one row per point; otherwise one for all
  std::string where;      ///< the file, for messages

  std::span<const float> at(std::uint32_t point) const {
    return std::span(values).subspan(varies ? static_cast<std::size_t>(point) * static_cast<std::size_t>(width) : 0,
                                     static_cast<std::size_t>(width));
  }
  /// Throws Error{unreadable} if the arrays do not match the shape or number of the points.
  void fit(std::int64_t points_elements, std::int64_t points) const;
};

/// The text of a noise: "NAME" at scale 1, otherwise "NAME:0.5".
std::string text_with_scale(const std::string& name, double scale);

/// Gaussian noise given by a named array. Derived classes interpret the array.
class ArrayGaussian : public NoiseShape {
 public:
  ArrayGaussian(PerPoint rows, std::string name) : rows_(std::move(rows)), name_(std::move(name)) {}

  std::string name() const override { return name_; }
  std::string text(double scale) const override { return text_with_scale(name_, scale); }
  bool one_parameter() const override { return false; }
  bool mirrored() const override { return true; }
  bool differs() const override { return rows_.varies; }
  void fit(std::int64_t elements, std::int64_t points) const override { rows_.fit(elements, points); }

 protected:
  const PerPoint& rows() const { return rows_; }

 private:
  PerPoint rows_;
  std::string name_;
};

/// Gaussian noise with the second moments of deviations [M, d] or, per point, [N, M, d].
std::shared_ptr<const NoiseShape> second_moments(const NoiseArray& deviations);

/// Throws Error{unreadable} for an array of the wrong shape.
[[noreturn]] void refuse_shape(const NoiseArray& array, const std::string& hint);

}  // namespace probust
