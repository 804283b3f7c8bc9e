// SPDX-License-Identifier: MIT
//
// Small pictures in rows and columns, as one SVG.
#pragma once

#include <string>
#include <vector>

#include "report/picture.h"
#include "report/plot.h"

namespace probust::report {

struct GridCell {
  Picture picture{};   ///< no picture if it has no bytes
  std::string text{};  ///< below the picture; may be empty
};

struct GridRow {
  std::string name;
  std::vector<GridCell> cells;
};

struct PictureGrid {
  std::string title{};
  std::vector<std::string> columns{};  ///< above the cells; may be empty
  std::vector<GridRow> rows{};
  int side = 56;  ///< of a picture, in CSS pixels
};

/// The <svg> element, with a trailing newline, at least as wide as its cells. Texts are escaped and cut to the width of a cell.
std::string svg(const PictureGrid& grid, Surroundings surroundings);

/// The same as pixels, on white, for a PNG file: pictures are enlarged by whole factors to at most `side` pixels, and texts are
/// in ASCII. Throws Error{resources} if it would be larger than image files may be.
Picture raster(const PictureGrid& grid);

}  // namespace probust::report
