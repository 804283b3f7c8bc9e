// SPDX-License-Identifier: MIT
// Draws grids of pictures as bitmaps. The layout is a table: names of rows on the left, names of columns at the top, and texts
// below the pictures.
#include <algorithm>

#include "probust/base/error.h"
#include "report/glyphs.h"
#include "report/picture_grid.h"

namespace probust::report {
namespace {

constexpr std::int64_t kMargin = 8, kBetween = 6, kMostSide = 16384, kMostNamePixels = 160;

std::int64_t pixels_of(const std::string& text) { return kGlyphWidth * std::ssize(text); }

// The text, cut to at most `width` pixels. If it is cut, it ends with two dots.
std::string fitting(const std::string& text, std::int64_t width) {
  if (pixels_of(text) <= width) return text;
  const std::int64_t letters = std::max<std::int64_t>(0, width / kGlyphWidth - 2);
  return text.substr(0, static_cast<std::size_t>(letters)) + "..";
}

class Canvas {
 public:
  Canvas(std::int64_t height, std::int64_t width) : picture_{height, width, 3, {}} {
    if (height > kMostSide || width > kMostSide)
      throw Error{ErrorCode::resources, "the sheet", "would have more than " + std::to_string(kMostSide) + " pixels on a side",
                  "show fewer images or draws"};
    picture_.bytes.assign(static_cast<std::size_t>(height * width * 3), 255);
  }

  void write(const std::string& text, std::int64_t left, std::int64_t top) {
    for (const char character : text) {
      for (int row = 0; row < kGlyphHeight; ++row) {
        for (int column = 0; column < kGlyphWidth; ++column) {
          if (glyph_has(character, row, column)) set(top + row, left + column, {kInk, kInk, kInk});
        }
      }
      left += kGlyphWidth;
    }
  }

  // Draws a picture, enlarged by an integer factor, in the centre of a square of `side` pixels.
  void draw(const Picture& picture, std::int64_t left, std::int64_t top, std::int64_t side) {
    const std::int64_t factor = std::max<std::int64_t>(1, side / std::max(picture.height, picture.width));
    left += std::max<std::int64_t>(0, (side - factor * picture.width) / 2);
    for (std::int64_t row = 0; row < factor * picture.height; ++row) {
      for (std::int64_t column = 0; column < factor * picture.width; ++column) {
        const std::uint8_t* pixel = &picture.bytes[(row / factor * picture.width + column / factor) * picture.channels];
        const bool colour = picture.channels == 3;
        set(top + row, left + column, {pixel[0], pixel[colour ? 1 : 0], pixel[colour ? 2 : 0]});
      }
    }
  }

  Picture finish() { return std::move(picture_); }

 private:
  static constexpr std::uint8_t kInk = 27;
  struct Colour {
    std::uint8_t red, green, blue;
  };

  void set(std::int64_t row, std::int64_t column, Colour colour) {
    if (row < 0 || column < 0 || row >= picture_.height || column >= picture_.width) return;
    std::uint8_t* pixel = &picture_.bytes[(row * picture_.width + column) * 3];
    pixel[0] = colour.red;
    pixel[1] = colour.green;
    pixel[2] = colour.blue;
  }

  Picture picture_;
};

// The side of a cell: grid.side or, if a picture is larger, the longest side of the pictures.
std::int64_t side_of(const PictureGrid& grid) {
  std::int64_t side = grid.side;
  for (const GridRow& row : grid.rows) {
    for (const GridCell& cell : row.cells) side = std::max({side, cell.picture.height, cell.picture.width});
  }
  return side;
}

}  // namespace

Picture raster(const PictureGrid& grid) {
  std::int64_t names = 0, cells = std::ssize(grid.columns);
  bool texts = false;
  for (const GridRow& row : grid.rows) {
    names = std::max(names, std::min(kMostNamePixels, pixels_of(row.name)));
    cells = std::max<std::int64_t>(cells, std::ssize(row.cells));
    for (const GridCell& cell : row.cells) texts = texts || !cell.text.empty();
  }
  const std::int64_t side = side_of(grid), step = side + kBetween, line = kGlyphHeight + 3;
  const std::int64_t left = kMargin + names + (names > 0 ? kBetween : 0), rows = std::ssize(grid.rows);
  const std::int64_t title = grid.title.empty() ? 0 : line + kBetween, top = kMargin + title + (grid.columns.empty() ? 0 : line);
  const std::int64_t height = side + (texts ? line : 0) + kBetween;
  Canvas canvas(top + rows * height + kMargin, std::max(left + cells * step, 2 * kMargin + pixels_of(grid.title)) + kMargin);
  canvas.write(grid.title, kMargin, kMargin);
  for (std::int64_t c = 0; c < std::ssize(grid.columns); ++c) {
    std::int64_t span = 1;  // a name may extend over the columns after it that have no names
    while (c + span < std::ssize(grid.columns) && grid.columns[c + span].empty()) ++span;
    canvas.write(fitting(grid.columns[c], span * step - kBetween), left + c * step, top - line);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t y = top + r * height;
    canvas.write(fitting(grid.rows[r].name, names), kMargin, y + (side - kGlyphHeight) / 2);
    for (std::int64_t c = 0; c < std::ssize(grid.rows[r].cells); ++c) {
      const GridCell& cell = grid.rows[r].cells[c];
      if (!cell.picture.bytes.empty()) canvas.draw(cell.picture, left + c * step, y, side);
      canvas.write(fitting(cell.text, side), left + c * step, y + side + 2);
    }
  }
  return canvas.finish();
}

}  // namespace probust::report
