// SPDX-License-Identifier: MIT
//
// Small pictures in rows and columns, as one SVG or PNG picture.
#pragma once

#include <string>
#include <vector>

#include "report/picture.h"
#include "report/plot.h"

namespace probust::report {

struct GridCell {
  Picture picture{};   ///< the cell is empty if this has no bytes
  std::string text{};  ///< the text below the picture; may be empty
};

struct GridRow {
  std::string name;
  std::vector<GridCell> cells;
};

struct PictureGrid {
  std::string title{};
  std::vector<std::string> columns{};  ///< names above the columns; may be empty
  std::vector<GridRow> rows{};
  int side = 56;  ///< the side of a picture, in CSS pixels
};

/// The <svg> element of the grid, with a trailing newline. Texts are escaped, and cut to the width of a cell.
std::string svg(const PictureGrid& grid, Surroundings surroundings);

/// The grid as a bitmap on a white background, for a PNG file: pictures are enlarged by integer factors to at most `side`
/// pixels, and texts are in ASCII. Throws Error{resources} if the bitmap would be larger than an image file may be.
Picture raster(const PictureGrid& grid);

}  // namespace probust::report
