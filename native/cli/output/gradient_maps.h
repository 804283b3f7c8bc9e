// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "probust/estimators/gradient/gradient_of_p.h"
#include "report/picture_grid.h"

namespace probust::cli {

/// Throws Error{usage} about `file` if points of this shape are not images.
void require_images(const Shape& point, const std::string& file);

/// Pictures of images next to maps of their gradients.
class GradientMaps {
 public:
  explicit GradientMaps(std::int64_t capacity);

  std::int64_t size() const { return std::ssize(grid_.rows); }
  std::int64_t capacity() const { return capacity_; }

  /// Adds point i of `points`.
  void add(const Points& points, const GradientOfP& found, std::int64_t i);

  /// Writes a PNG file. Throws Error{resources}.
  void write(const std::string& path) const;

 private:
  std::int64_t capacity_;
  report::PictureGrid grid_;
};

}  // namespace probust::cli
