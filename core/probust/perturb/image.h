// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "probust/graph/graph.h"

namespace probust {

/// An image with `channels` planes of rows x columns, and how a point stores it.
struct Image {
  std::int64_t channels = 1, rows = 1, columns = 1;
  Shape point;                 ///< the shape of the point
  bool channels_last = false;  ///< stored as [rows, columns, channels]

  std::int64_t pixels() const { return rows * columns; }
  std::int64_t elements() const { return channels * pixels(); }
  Shape planes() const { return {channels, rows, columns}; }
};

/// The image in a point of this shape: [rows, columns], [channels, rows, columns] or [rows, columns, channels], with 1, 3 or 4
/// channels if the position of the channels would be unclear. Throws Error{usage} with `where` for other shapes.
Image image_of(const Shape& point, const std::string& where);

/// A point of the graph as planes [channels, rows, columns], and back.
ValueId to_planes(Graph& g, const Image& image, ValueId point);
ValueId from_planes(Graph& g, const Image& image, ValueId planes);

}  // namespace probust
