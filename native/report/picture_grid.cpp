// SPDX-License-Identifier: MIT
#include "report/picture_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/layout.h"
#include "report/svg_parts.h"

namespace probust::report {
namespace {

constexpr double kGap = 6, kTextHeight = 16;

struct Places {
  double left = 0, top = 0, step = 0, row = 0, width = 0, height = 0;
};

Places places_of(const PictureGrid& grid) {
  std::size_t cells = grid.columns.size();
  double names = 0;
  bool texts = false;
  for (const GridRow& row : grid.rows) {
    cells = std::max(cells, row.cells.size());
    names = std::max(names, text_width(row.name));
    texts = texts || std::any_of(row.cells.begin(), row.cells.end(), [](const GridCell& cell) { return !cell.text.empty(); });
  }
  Places places;
  places.left = kRoom + std::min(names, 120.0) + kGap;
  places.top = kRoom + (grid.title.empty() ? 0 : 1.5 * kTitleFont) + (grid.columns.empty() ? 0 : kTextHeight);
  places.step = grid.side + kGap;
  places.row = grid.side + (texts ? kTextHeight : 0) + kGap;
  places.width = places.left + static_cast<double>(cells) * places.step + kRoom;
  places.height = places.top + static_cast<double>(grid.rows.size()) * places.row + kRoom;
  return places;
}

std::string image(const Picture& picture, double x, double y, int side) {
  return fmt::format("<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" style=\"image-rendering:pixelated\" href=\"{}\"/>\n",
                     px(x), px(y), side, side, png_uri(picture));
}

}  // namespace

std::string svg(const PictureGrid& grid, Surroundings surroundings) {
  const Places places = places_of(grid);
  const int width = static_cast<int>(std::lround(places.width)), height = static_cast<int>(std::lround(places.height));
  std::string text =
      svg_head(width, height, grid.title, surroundings, fmt::format("width:100%;max-width:{}px;height:auto", width));
  if (!grid.title.empty())
    text += text_at(kRoom, kRoom + kTitleFont, shortened(grid.title, places.width - 2 * kRoom),
                    fmt::format(" font-size=\"{}\" font-weight=\"600\"", kTitleFont));
  for (std::size_t c = 0; c < grid.columns.size(); ++c) {
    // A name may extend over the columns after it that have no names.
    std::size_t span = 1;
    while (c + span < grid.columns.size() && grid.columns[c + span].empty()) ++span;
    text += text_at(places.left + static_cast<double>(c) * places.step, places.top - 4,
                    shortened(grid.columns[c], static_cast<double>(span) * places.step - kGap));
  }
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    const double y = places.top + static_cast<double>(r) * places.row;
    text += text_at(kRoom, y + 0.5 * grid.side, shortened(grid.rows[r].name, places.left - kRoom - kGap));
    for (std::size_t c = 0; c < grid.rows[r].cells.size(); ++c) {
      const GridCell& cell = grid.rows[r].cells[c];
      const double x = places.left + static_cast<double>(c) * places.step;
      if (!cell.picture.bytes.empty()) text += image(cell.picture, x, y, grid.side);
      if (!cell.text.empty())
        text += text_at(x + 0.5 * grid.side, y + grid.side + kTextHeight - 4, shortened(cell.text, places.step),
                        " text-anchor=\"middle\" font-size=\"11\"");
    }
  }
  return text + "</svg>\n";
}

}  // namespace probust::report
