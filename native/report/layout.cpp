// SPDX-License-Identifier: MIT
#include "report/layout.h"

#include <algorithm>
#include <cmath>

#include "report/svg_parts.h"

namespace probust::report {
namespace {

// All values in a chart along each axis.
struct Values {
  std::vector<double> x, y;
  bool any = false;
};

Values values_of(const Chart& chart) {
  Values values;
  for (const Series& series : chart.series) {
    for (const PlotPoint& point : series.points) {
      if (!shown(chart.x, point.x)) continue;
      values.x.push_back(point.x);
      values.any = values.any || shown(chart.y, point.y);
      for (const double value : {point.y, point.low.value_or(point.y), point.high.value_or(point.y)}) values.y.push_back(value);
    }
  }
  if (chart.level) values.y.push_back(*chart.level);
  if (chart.mark == Mark::bar && !chart.y.logarithmic) values.y.push_back(0);
  return values;
}

// The axis, with its ends half a cell beyond the first and the last centre.
Axis edges_of(Axis axis, const std::vector<double>& centres) {
  if (centres.size() < 2) return axis;
  const double half = 0.5 * (centres.back() - centres.front()) / static_cast<double>(centres.size() - 1);
  axis.low = centres.front() - half;
  axis.high = centres.back() + half;
  return axis;
}

Values values_of_grid(const Grid& grid) {
  Values values{grid.x, grid.y};
  values.any = grid.x.size() > 1 && grid.y.size() > 1 && grid.values.size() == grid.x.size() * grid.y.size() &&
               std::any_of(grid.values.begin(), grid.values.end(), [&](double value) { return shown(grid.value, value); });
  return values;
}

double widest_text(const std::vector<std::string>& texts) {
  double widest = 0;
  for (const std::string& text : texts) widest = std::max(widest, text_width(text));
  return widest;
}

// The legend's entries, from left to right in as many lines as needed, below `top`. A series without a name has no entry.
std::vector<LegendEntry> legend_of(const Chart& chart, double top) {
  constexpr double kSample = 30;
  std::vector<LegendEntry> legend;
  double x = kRoom, y = top + 0.6 * kLine;
  for (std::size_t k = 0; k < chart.series.size(); ++k) {
    if (chart.series[k].name.empty()) continue;
    const std::string text = shortened(chart.series[k].name, chart.width - 2 * kRoom - kSample);
    const double needed = kSample + text_width(text) + 2 * kRoom;
    if (x > kRoom && x + needed > chart.width) {
      x = kRoom;
      y += kLine;
    }
    legend.push_back({k, x, y, text});
    x += needed;
  }
  return legend;
}

double widest_tick(const Ruler& ruler) {
  std::vector<std::string> ticks;
  for (const Tick& tick : ruler.ticks) ticks.push_back(tick.text);
  return widest_text(ticks);
}

// If the names of categories do not fit side by side, they are slanted; if they still do not fit, some are omitted.
void lay_out_categories(Layout& layout, const std::vector<std::string>& names) {
  if (names.empty()) return;
  const double slot = (layout.right - layout.left) / static_cast<double>(names.size());
  layout.slanted = widest_text(names) > slot - 4;
  if (!layout.slanted) return;
  layout.every = std::max(1, static_cast<int>(std::ceil(1.2 * kFont / slot)));
  // The first name extends to the left of the frame; cos(35°) is 0.82.
  layout.left = std::max(layout.left, 0.82 * std::min(text_width(names[0]), kMostSlanted) - 0.5 * slot + 2 * kRoom);
}

}  // namespace

double Layout::at_x(double value) const { return std::lerp(left, right, x.share(value)); }
double Layout::at_y(double value) const { return std::lerp(bottom, top, y.share(value)); }

Layout lay_out(const Chart& chart) {
  const bool map = chart.mark == Mark::map;
  const Values values = map ? values_of_grid(chart.grid) : values_of(chart);
  const Axis x = map ? edges_of(chart.x, chart.grid.x) : chart.x, y = map ? edges_of(chart.y, chart.grid.y) : chart.y;
  const int most_y = std::max(2, chart.height / 70);
  Layout layout;
  layout.any_value = values.any;
  layout.y = ruler(y, values.y, most_y, true);
  layout.title = wrapped(chart.title, chart.width - 2 * kRoom, kTitleFont);
  const double below_title = kRoom + 1.3 * kTitleFont * static_cast<double>(layout.title.size());
  layout.legend = legend_of(chart, below_title);
  const double below_legend = layout.legend.empty() ? below_title : layout.legend.back().y + 0.4 * kLine;
  layout.left = kRoom + widest_tick(layout.y) + kRoom;
  layout.right = chart.width - 2 * kRoom;
  if (map) {
    layout.colours = ruler(chart.grid.value, chart.grid.values, most_y, true);
    layout.bar = chart.width - kRoom - widest_tick(layout.colours) - kRoom - kBar;
    layout.right = layout.bar - 2 * kRoom;
  }
  layout.top = below_legend + kRoom + (chart.y.label.empty() && chart.grid.value.label.empty() ? 0 : kLine);
  const int most = std::max(2, static_cast<int>((layout.right - layout.left) / 80));
  layout.x = ruler(x, values.x, most, chart.mark == Mark::scatter);
  lay_out_categories(layout, chart.x.categories);
  const double slanted = 0.6 * std::min(widest_text(chart.x.categories), kMostSlanted);
  layout.bottom = chart.height - 2 * kRoom - kFont - (chart.x.label.empty() ? 0 : kLine) - (layout.slanted ? slanted : 0);
  return layout;
}

}  // namespace probust::report
