// SPDX-License-Identifier: MIT
// Shows values as colours from dark blue through green to yellow. Larger values are brighter, so the map is readable in print
// and by people with colour blindness. The cells cover the background, so the colours are the same on light and dark pages.
#include "report/map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "report/svg_parts.h"

namespace probust::report {
namespace {

constexpr int kColourSteps = 48;  // finer steps are hard to distinguish; all cells of a step form one path

// Six colours at equal distances from the colour map Viridis by S. van der Walt and N. Smith (CC0).
constexpr std::array<std::array<int, 3>, 6> kAnchors = {
    {{0x44, 0x01, 0x54}, {0x41, 0x44, 0x87}, {0x2a, 0x78, 0x8e}, {0x22, 0xa8, 0x84}, {0x7a, 0xd1, 0x51}, {0xfd, 0xe7, 0x25}}};

int step_of(double share) { return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * (kColourSteps - 1))); }
std::string colour_of_step(int step) { return map_colour(static_cast<double>(step) / (kColourSteps - 1)); }

// Half the distance between adjacent centres.
double half_of(const std::vector<double>& centres) {
  return 0.5 * (centres.back() - centres.front()) / static_cast<double>(centres.size() - 1);
}

std::string rectangle(double left, double top, double right, double bottom) {
  return fmt::format("M{} {}H{}V{}H{}z", px(left), px(top), px(right), px(bottom), px(left));
}

}  // namespace

std::string map_colour(double share) {
  const double at = std::clamp(share, 0.0, 1.0) * (kAnchors.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), kAnchors.size() - 2);
  std::string text = "#";
  for (std::size_t k = 0; k < 3; ++k) {
    const double mixed = std::lerp(kAnchors[below][k], kAnchors[below + 1][k], at - static_cast<double>(below));
    text += fmt::format("{:02x}", std::lround(mixed));
  }
  return text;
}

std::string cells(const Grid& grid, const Layout& layout) {
  const std::size_t columns = grid.x.size();
  const double half_x = half_of(grid.x), half_y = half_of(grid.y);
  const auto step_at = [&](std::size_t row, std::size_t column) {
    const double value = grid.values[row * columns + column];
    return shown(grid.value, value) ? step_of(layout.colours.share(value)) : -1;
  };
  std::map<int, std::string> paths;  // by step
  for (std::size_t row = 0; row < grid.y.size(); ++row) {
    const double top = layout.at_y(grid.y[row] + half_y), bottom = layout.at_y(grid.y[row] - half_y);
    for (std::size_t first = 0, next = 0; first < columns; first = next) {
      const int step = step_at(row, first);
      for (next = first + 1; next < columns && step_at(row, next) == step;) ++next;
      if (step >= 0)
        paths[step] += rectangle(layout.at_x(grid.x[first] - half_x), top, layout.at_x(grid.x[next - 1] + half_x), bottom);
    }
  }
  std::string text = "<g shape-rendering=\"crispEdges\">\n";  // no gaps between adjacent cells
  for (const auto& [step, path] : paths) text += fmt::format("<path d=\"{}\" fill=\"{}\"/>\n", path, colour_of_step(step));
  return text + "</g>\n";
}

std::string colour_bar(const Chart& chart, const Layout& layout) {
  const double left = layout.bar, right = left + kBar;
  std::string text = "<g shape-rendering=\"crispEdges\">\n";
  for (int step = 0; step < kColourSteps; ++step) {
    const double bottom = std::lerp(layout.bottom, layout.top, static_cast<double>(step) / kColourSteps),
                 top = std::lerp(layout.bottom, layout.top, static_cast<double>(step + 1) / kColourSteps);
    text += fmt::format("<path d=\"{}\" fill=\"{}\"/>\n", rectangle(left, top, right, bottom), colour_of_step(step));
  }
  text += "</g>\n";
  for (const Tick& tick : layout.colours.ticks) {
    const double y = std::lerp(layout.bottom, layout.top, layout.colours.share(tick.value));
    text += line_from(right, y, right + 4, y, " stroke=\"currentColor\"");
    text += text_at(right + kRoom, y + 0.35 * kFont, tick.text);
  }
  if (!chart.grid.value.label.empty())
    text +=
        text_at(chart.width - kRoom, layout.top - kRoom - 4, chart.grid.value.label, " text-anchor=\"end\" fill-opacity=\".75\"");
  return text;
}

}  // namespace probust::report
