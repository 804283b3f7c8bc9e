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
  std::optional<double> low{}, high{};  ///< range of y, drawn as a band around lines and as error bars at other marks
  std::string title{};                  ///< text that appears under the mouse pointer; may be empty
};

struct Series {
  std::string name;  ///< name in the legend; if empty, the legend has no entry for the series
  std::vector<PlotPoint> points;
};

enum class Mark : std::uint8_t {
  line,     ///< points in order of ascending x, joined by lines
  bar,      ///< bars; x is the number of a category
  violin,   ///< for each category, a shape whose width is the density of its values, with their median, their mean and the mean's
            ///< interval
  scatter,  ///< points without lines
  map       ///< the cells of `grid`, coloured by their values, and a colour bar
};

struct Axis {
  std::string label{};
  std::optional<double> low{}, high{};    ///< ends of the axis; if empty, the ends of the data, extended to ticks
  bool logarithmic = false;               ///< values that are not positive are omitted
  std::vector<std::string> categories{};  ///< names to show instead of numbers; category k is at value k
  bool every_value = false;  ///< whether ticks are at the values of the data, such as the scales of a sweep, if they are few
};

/// Values over a plane, at the centres of cells that all have the same size.
struct Grid {
  std::vector<double> x{}, y{};  ///< centres of the columns and rows: ascending, evenly spaced, at least two of each
  std::vector<double> values{};  ///< [rows of y][columns of x]; cells without a finite value stay empty
  Axis value{};                  ///< the label and range of the colour bar
};

struct Chart {
  std::string title{};
  Mark mark = Mark::line;
  Axis x{}, y{};
  std::vector<Series> series{};
  Grid grid{};                    ///< the values of a map, which has no series
  bool diagonal = false;          ///< whether to draw the line y = x
  std::optional<double> level{};  ///< the y of a dashed horizontal line
  int width = 720, height = 420;  ///< in CSS pixels; on a page, the picture and its text scale to the width of its container
};

enum class Surroundings : std::uint8_t {
  file,  ///< a separate file with a white background
  page   ///< part of an HTML page: no background, text in the page's colour, series in --plot-1 to --plot-8 if the page sets them
};

/// The <svg> element of the chart, with a trailing newline. Texts are escaped. A chart without finite values shows "no values".
std::string svg(const Chart& chart, Surroundings surroundings);

/// Text for XML or HTML, with & < > " ' as entities and other characters escaped by printable().
std::string escaped(const std::string& text);

}  // namespace probust::report
