// SPDX-License-Identifier: MIT
// Draws charts as SVG. Each series is a <g> element with its own `color`, which all its parts use.
#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "probust/analysis/statistics.h"
#include "probust/analysis/summary.h"
#include "probust/base/text.h"
#include "report/axis.h"
#include "report/density.h"
#include "report/layout.h"
#include "report/map.h"
#include "report/svg_parts.h"

namespace probust::report {
namespace {

// Colours that people with colour blindness can distinguish (Okabe and Ito, "Color universal design", 2008; without yellow,
// which is invisible on white), on light and dark backgrounds.
constexpr std::array<const char*, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#e69f00", "#56b4e9", "#8066c8", "#868686"};

constexpr std::size_t kMostMarkers = 30;  // the largest number of markers on one line

class Drawing {
 public:
  Drawing(const Chart& chart, Surroundings surroundings) : chart_(chart), surroundings_(surroundings), layout_(lay_out(chart)) {}

  std::string text() const {
    const std::string marks = layout_.any_value ? map_cells() + reference_lines() + marks_of_all() : "";
    return svg_head(chart_.width, chart_.height, chart_.title, surroundings_) + title() + legend() + grid() + inside(marks) +
           frame_and_labels() + bar() +
           (layout_.any_value
                ? ""
                : text_at(layout_.middle(), 0.5 * (layout_.top + layout_.bottom), "no values", " text-anchor=\"middle\"")) +
           "</svg>\n";
  }

 private:
  double at_x(double value) const { return layout_.at_x(value); }
  double at_y(double value) const { return layout_.at_y(value); }
  bool has_markers(std::size_t k) const { return chart_.mark != Mark::line || chart_.series[k].points.size() <= kMostMarkers; }
  bool drawn(const PlotPoint& point) const { return shown(chart_.x, point.x) && shown(chart_.y, point.y); }

  // ---- parts

  std::string title() const {
    std::string text;
    double y = kRoom;
    for (const std::string& line : layout_.title) {
      y += 1.3 * kTitleFont;
      if (!line.empty())
        text += text_at(kRoom, y - 0.3 * kTitleFont, line, fmt::format(" font-size=\"{}\" font-weight=\"600\"", kTitleFont));
    }
    return text;
  }

  std::string legend() const {
    std::string text;
    for (const LegendEntry& entry : layout_.legend) {
      const double y = entry.y;
      std::string sample;
      if (chart_.mark == Mark::line) sample += line_from(entry.x, y, entry.x + 24, y, stroke(entry.series));
      if (chart_.mark == Mark::bar || chart_.mark == Mark::violin) {
        sample +=
            fmt::format("<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill-opacity=\".8\"/>\n", px(entry.x + 6), px(y - 6));
      } else if (has_markers(entry.series)) {
        sample += fmt::format("<path d=\"{}\"/>\n", marker(entry.series, entry.x + 12, y, 4));
      }
      text += coloured(entry.series, sample) + text_at(entry.x + 30, y + 0.35 * kFont, entry.text);
    }
    return text;
  }

  std::string grid() const {
    std::string text = "<g stroke=\"currentColor\" stroke-opacity=\".15\">\n";
    for (const Tick& tick : layout_.y.ticks)
      text += line_from(layout_.left, at_y(tick.value), layout_.right, at_y(tick.value), "");
    if (chart_.mark == Mark::scatter && chart_.x.categories.empty()) {
      for (const Tick& tick : layout_.x.ticks)
        text += line_from(at_x(tick.value), layout_.top, at_x(tick.value), layout_.bottom, "");
    }
    return text + "</g>\n";
  }

  // Marks are clipped slightly outside the frame, so that marks on its edge are drawn completely. An inner <svg> does this
  // without needing an id.
  std::string inside(const std::string& marks) const {
    const std::string box =
        fmt::format("{0} {1} {2} {3}", px(layout_.left - kRoom), px(layout_.top - kRoom),
                    px(layout_.right - layout_.left + 2 * kRoom), px(layout_.bottom - layout_.top + 2 * kRoom));
    const std::vector<std::string> ends = split(box, ' ');
    return fmt::format("<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" viewBox=\"{}\" overflow=\"hidden\">\n{}</svg>\n",
                       ends[0], ends[1], ends[2], ends[3], box, marks);
  }

  std::string frame_and_labels() const {
    std::string text = line_from(layout_.left, layout_.bottom, layout_.right, layout_.bottom, " stroke=\"currentColor\"");
    for (const Tick& tick : layout_.y.ticks)
      text += text_at(layout_.left - kRoom, at_y(tick.value) + 0.35 * kFont, tick.text, " text-anchor=\"end\"");
    text += x_ticks();
    if (!chart_.y.label.empty()) text += text_at(kRoom, layout_.top - kRoom - 4, chart_.y.label, " fill-opacity=\".75\"");
    if (!chart_.x.label.empty())
      text +=
          text_at(layout_.middle(), chart_.height - kRoom - 2, chart_.x.label, " text-anchor=\"middle\" fill-opacity=\".75\"");
    return text;
  }

  std::string x_ticks() const {
    std::string text;
    double end = -1e9;  // the right end of the last number drawn
    for (std::size_t k = 0; k < layout_.x.ticks.size(); ++k) {
      const double x = at_x(layout_.x.ticks[k].value), y = layout_.bottom + kRoom + 0.75 * kFont;
      const std::string& name = layout_.x.ticks[k].text;
      text += line_from(x, layout_.bottom, x, layout_.bottom + 4, " stroke=\"currentColor\"");
      if (layout_.slanted) {
        if (k % static_cast<std::size_t>(layout_.every) == 0)
          text += text_at(x, y, shortened(name, kMostSlanted),
                          fmt::format(" text-anchor=\"end\" transform=\"rotate(-35 {} {})\"", px(x), px(y)));
      } else if (x - 0.5 * text_width(name) > end + 4) {
        text += text_at(x, y, name, " text-anchor=\"middle\"");
        end = x + 0.5 * text_width(name);
      }
    }
    return text;
  }

  std::string map_cells() const { return chart_.mark == Mark::map ? cells(chart_.grid, layout_) : ""; }
  std::string bar() const { return chart_.mark == Mark::map && layout_.any_value ? colour_bar(chart_, layout_) : ""; }

  std::string reference_lines() const {
    std::string text;
    constexpr const char* kDashed = " stroke=\"currentColor\" stroke-opacity=\".6\" stroke-dasharray=\"5 4\"";
    if (chart_.level && shown(chart_.y, *chart_.level))
      text += line_from(layout_.left, at_y(*chart_.level), layout_.right, at_y(*chart_.level), kDashed);
    const double low = std::max(layout_.x.low, layout_.y.low), high = std::min(layout_.x.high, layout_.y.high);
    if (chart_.diagonal && layout_.x.logarithmic == layout_.y.logarithmic && low < high)
      text += line_from(at_x(low), at_y(low), at_x(high), at_y(high), kDashed);
    return text;
  }

  std::string marks_of_all() const {
    std::string text;
    for (std::size_t k = 0; k < chart_.series.size(); ++k) {
      switch (chart_.mark) {
        case Mark::line:
          text += coloured(k, band(k) + lines(k) + (has_markers(k) ? markers(k) : ""));
          break;
        case Mark::bar:
          text += coloured(k, bars(k)) + error_bars(k);
          break;
        case Mark::violin:
          text += coloured(k, violins(k));
          break;
        case Mark::scatter:
          text += coloured(k, error_bars(k) + markers(k));
          break;
        case Mark::map:
          break;
      }
    }
    return text;
  }

  // A group in the colour of series k.
  std::string coloured(std::size_t k, const std::string& content) const {
    const char* colour = kColours[k % kColours.size()];
    const std::string attribute = surroundings_ == Surroundings::file
                                      ? fmt::format("color=\"{}\"", colour)
                                      : fmt::format("style=\"color:var(--plot-{},{})\"", k % kColours.size() + 1, colour);
    return fmt::format("<g {} fill=\"currentColor\">\n{}</g>\n", attribute, content);
  }

  static std::string stroke(std::size_t k) {
    constexpr std::array<const char*, 3> kDashes = {"", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 3\""};
    return fmt::format(" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\" stroke-linejoin=\"round\"{}",
                       kDashes[k / kColours.size() % kDashes.size()]);
  }

  // ---- marks

  // Calls draw(first, last) for each run of consecutive points that can all be shown.
  template <class Draw>
  void for_each_run(std::size_t k, const Draw& draw) const {
    const std::vector<PlotPoint>& points = chart_.series[k].points;
    for (auto first = points.begin(); first != points.end();) {
      const auto last = std::find_if_not(first, points.end(), [this](const PlotPoint& point) { return drawn(point); });
      if (first != last) draw(first, last);
      first = last == points.end() ? last : last + 1;
    }
  }

  std::string lines(std::size_t k) const {
    std::string path;
    for_each_run(k, [&](auto first, auto last) {
      for (auto point = first; point != last; ++point)
        path += fmt::format("{}{} {}", point == first ? "M" : "L", px(at_x(point->x)), px(at_y(point->y)));
    });
    return path.empty() ? "" : fmt::format("<path d=\"{}\"{}/>\n", path, stroke(k));
  }

  std::string band(std::size_t k) const {
    std::string path;
    for_each_run(k, [&](auto first, auto last) {
      if (last - first < 2) return;
      for (auto point = first; point != last; ++point)
        path += fmt::format("{}{} {}", point == first ? "M" : "L", px(at_x(point->x)), px(bound(point->low, point->y)));
      for (auto point = last; point != first; --point)
        path += fmt::format("L{} {}", px(at_x((point - 1)->x)), px(bound((point - 1)->high, (point - 1)->y)));
      path += "z";
    });
    return path.empty() ? "" : fmt::format("<path d=\"{}\" fill-opacity=\".18\"/>\n", path);
  }

  double bound(const std::optional<double>& value, double otherwise) const {
    const double at = value.value_or(otherwise);
    if (std::isnan(at)) return at_y(otherwise);
    return chart_.y.logarithmic && at <= 0 ? std::lerp(layout_.bottom, layout_.top, -1.0) : at_y(at);
  }

  // The horizontal position of a point of series k. The bars of a category are side by side.
  double place(std::size_t k, const PlotPoint& point) const {
    if (chart_.x.categories.empty()) return at_x(point.x);
    return at_x(point.x) + (static_cast<double>(k) - 0.5 * static_cast<double>(chart_.series.size() - 1)) * bar_step();
  }
  double bar_step() const {
    return 0.75 * (at_x(1) - at_x(0)) / static_cast<double>(std::max<std::size_t>(1, chart_.series.size()));
  }

  std::string bars(std::size_t k) const {
    std::string text;
    const double bar = std::min(60.0, 0.92 * bar_step());
    const double base = std::clamp(layout_.y.logarithmic ? layout_.bottom : at_y(0), layout_.top, layout_.bottom);
    for (const PlotPoint& point : chart_.series[k].points) {
      if (!drawn(point)) continue;
      const double y = at_y(point.y);
      text += titled(fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\".8\"",
                                 px(place(k, point) - 0.5 * bar), px(std::min(y, base)), px(bar), px(std::fabs(base - y))),
                     "rect", point.title);
    }
    return text;
  }

  std::string violins(std::size_t k) const {
    std::map<double, std::vector<double>> categories;
    for (const PlotPoint& point : chart_.series[k].points) {
      if (drawn(point)) categories[point.x].push_back(point.y);
    }
    std::string text;
    for (const auto& [category, values] : categories) text += violin(place(k, {category, 0}), values);
    return text;
  }

  // The shape of the density, a line at the median, and the mean with its 95% interval.
  std::string violin(double x, const std::vector<double>& values) const {
    const Density shape = density(values, layout_.y.high - layout_.y.low);
    const double half = std::min(30.0, 0.46 * bar_step());
    std::string path;
    for (std::size_t h = 0; h < shape.heights.size(); ++h)
      path += fmt::format("{}{} {}", h == 0 ? "M" : "L", px(x + half * shape.shares[h]), px(at_y(shape.heights[h])));
    for (std::size_t h = shape.heights.size(); h-- > 0;)
      path += fmt::format("L{} {}", px(x - half * shape.shares[h]), px(at_y(shape.heights[h])));
    const MeanInterval mean = mean_probability(values);
    const double median = quantile_of(values, 0.5);
    std::string text =
        titled(fmt::format("<path d=\"{}z\" fill-opacity=\".35\" stroke=\"currentColor\" stroke-width=\"1\"", path), "path",
               fmt::format("{} values: median {:.3g}, mean {:.3g}", values.size(), median, mean.mean));
    text += line_from(x - half, at_y(median), x + half, at_y(median), " stroke=\"currentColor\" stroke-width=\"1.5\"");
    if (values.size() > 1)
      text += fmt::format("<path d=\"M{} {}V{}\" stroke=\"currentColor\" stroke-width=\"2\"/>\n", px(x), px(at_y(mean.low)),
                          px(at_y(mean.high)));
    return text + fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3\"/>\n", px(x), px(at_y(mean.mean)));
  }

  std::string error_bars(std::size_t k) const {
    std::string path;
    for (const PlotPoint& point : chart_.series[k].points) {
      if (!drawn(point) || (!point.low && !point.high)) continue;
      const double x = place(k, point), low = bound(point.low, point.y), high = bound(point.high, point.y);
      path += fmt::format("M{0} {1}V{2}M{3} {1}h6M{3} {2}h6", px(x), px(low), px(high), px(x - 3));
    }
    return path.empty() ? "" : fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\"/>\n", path);
  }

  // If there are many points, they are drawn as one path of dots, with only one dot for each position.
  std::string markers(std::size_t k) const {
    constexpr std::size_t kMany = 400;
    const std::vector<PlotPoint>& points = chart_.series[k].points;
    std::string text;
    std::set<std::pair<std::string, std::string>> dots;
    for (const PlotPoint& point : points) {
      if (!drawn(point)) continue;
      const double x = place(k, point), y = at_y(point.y);
      if (points.size() > kMany) {
        dots.emplace(px(x), px(y));
        continue;
      }
      text += titled(fmt::format("<path d=\"{}\" fill-opacity=\"{}\"", marker(k, x, y, 4), points.size() > 100 ? ".5" : ".85"),
                     "path", point.title);
    }
    std::string path;
    for (const auto& [x, y] : dots) path += fmt::format("M{} {}h0", x, y);
    if (!path.empty())
      text += fmt::format(
          "<path d=\"{}\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".6\" stroke-width=\"4\" "
          "stroke-linecap=\"round\"/>\n",
          path);
    return text;
  }

  const Chart& chart_;
  Surroundings surroundings_;
  Layout layout_;
};

}  // namespace

std::string svg(const Chart& chart, Surroundings surroundings) { return Drawing(chart, surroundings).text(); }

}  // namespace probust::report
