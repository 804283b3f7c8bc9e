// SPDX-License-Identifier: MIT
//
// Charts as SVG: lines with bands, bars, points with error bars, and maps of values over a plane. They need no script, font or
// style sheet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace probust::report {

/// One value. Values that are not finite leave a gap.
struct PlotPoint {
  double x = 0, y = 0;
  std::optional<double> low{}, high{};  ///< range of y: a band around lines, error bars otherwise
  std::string title{};                  ///< shown under the pointer; may be empty
};

struct Series {
  std::string name;  ///< name in the legend; no entry if empty
  std::vector<PlotPoint> points;
};

enum class Mark : std::uint8_t {
  line,     ///< points in ascending x, joined
  bar,      ///< x is the number of a category
  violin,   ///< the probabilities at each category x as a shape whose width is their density, with median, mean and its interval
  scatter,  ///< points without lines
  map       ///< the cells of `grid`, coloured by their values, and a colour bar
};

struct Axis {
  std::string label{};
  std::optional<double> low{}, high{};    ///< the range; default: that of the data, extended to ticks
  bool logarithmic = false;               ///< values that are not positive are left out
  std::vector<std::string> categories{};  ///< instead of numbers: category k is at k
  bool every_value = false;  ///< whether to put ticks at the values of the data, if they are few, such as the scales of a sweep
};

/// Values over a plane, at the centres of cells that all have the same size.
struct Grid {
  std::vector<double> x{}, y{};  ///< of the columns and rows: ascending, evenly spaced, at least two of each
  std::vector<double> values{};  ///< [rows of y][columns of x]; cells without a finite value stay empty
  Axis value{};                  ///< of the colour bar: its label and range
};

struct Chart {
  std::string title{};
  Mark mark = Mark::line;
  Axis x{}, y{};
  std::vector<Series> series{};
  Grid grid{};                    ///< of a map, which has no series
  bool diagonal = false;          ///< a line of equal x and y
  std::optional<double> level{};  ///< a dashed horizontal line
  int width = 720, height = 420;  ///< in CSS pixels; on a page, the picture and its text scale to the width of its container
};

enum class Surroundings : std::uint8_t {
  file,  ///< a separate file: white background
  page   ///< part of an HTML page: no background, text in the page's colour; series in --plot-1 to --plot-8 if the page sets them
};

/// The <svg> element, with a trailing newline. Texts are escaped. A chart without any finite value shows "no values".
std::string svg(const Chart& chart, Surroundings surroundings);

/// Text for XML or HTML, with & < > " ' as entities and other characters escaped by printable().
std::string escaped(const std::string& text);

}  // namespace probust::report
