// SPDX-License-Identifier: MIT
//
// The positions of the parts of a chart. From top to bottom: the title, the legend, the label of the y axis, the frame with the
// marks, and the ticks and label of the x axis. A map has a colour bar to the right of the frame.
#pragma once

#include <string>
#include <vector>

#include "report/axis.h"
#include "report/plot.h"

namespace probust::report {

inline constexpr double kLine = 19, kRoom = 8;

struct LegendEntry {
  std::size_t series;
  double x, y;  ///< the left end and the vertical middle of the entry
  std::string text;
};

inline constexpr double kBar = 14;  ///< the width of a colour bar

struct Layout {
  Ruler x, y;
  Ruler colours;  ///< the values of the colour bar
  bool any_value = false;
  double left = 0, top = 0, right = 0, bottom = 0;  ///< the edges of the frame
  double bar = 0;                                   ///< the left edge of the colour bar
  std::vector<std::string> title;                   ///< the lines of the title
  std::vector<LegendEntry> legend;
  bool slanted = false;  ///< whether the names of categories are slanted
  int every = 1;         ///< k if only the name of every k-th category is shown

  double middle() const { return 0.5 * (left + right); }
  double at_x(double value) const;
  double at_y(double value) const;
};

inline constexpr double kMostSlanted = 120;  ///< the largest width of a slanted name

Layout lay_out(const Chart& chart);

}  // namespace probust::report
