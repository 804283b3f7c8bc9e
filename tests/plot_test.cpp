// SPDX-License-Identifier: MIT
// Charts: ticks, positions of marks, legends, text from users, and numbers that cannot be plotted.
#include "report/plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/axis.h"
#include "report/density.h"
#include "report/layout.h"
#include "report/map.h"
#include "report/picture_grid.h"
#include "report/svg_parts.h"
#include "support/xml.h"

namespace probust::report {
namespace {

using test::occurrences;
using test::xml_problem;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> tick_texts(const Axis& axis, const std::vector<double>& values, int most = 6, bool to_ticks = true) {
  std::vector<std::string> texts;
  for (const Tick& tick : ruler(axis, values, most, to_ticks).ticks) texts.push_back(tick.text);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Plot, TicksAreRoundNumbers) {
  EXPECT_EQ(tick_texts({}, {0, 1}), (Texts{"0", "0.2", "0.4", "0.6", "0.8", "1"}));
  EXPECT_EQ(tick_texts({}, {0.913, 0.978}), (Texts{"0.9", "0.92", "0.94", "0.96", "0.98"}));
  EXPECT_EQ(tick_texts({}, {-30, 1000}), (Texts{"-200", "0", "200", "400", "600", "800", "1000"}));
  EXPECT_EQ(tick_texts({}, {1e-7, 3e-7}), (Texts{"1e-7", "1.5e-7", "2e-7", "2.5e-7", "3e-7"}));
}

TEST(Plot, LogarithmicTicks) {
  const Axis axis{.logarithmic = true};
  EXPECT_EQ(tick_texts(axis, {0.01, 1}), (Texts{"0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"}));
  EXPECT_EQ(tick_texts(axis, {1e-6, 1, 0, -1, kMissing}), (Texts{"1e-6", "0.0001", "0.01", "1"}));
  EXPECT_LE(tick_texts(axis, {1e-250, 1}).size(), 8U);
  EXPECT_GE(tick_texts(axis, {0.3, 0.4}).size(), 2U);  // no power of ten in between
}

TEST(Plot, TheScalesOfASweepAreTicks) {
  const Axis axis{.logarithmic = true, .every_value = true};
  EXPECT_EQ(tick_texts(axis, {0.25, 0.05, 0.1, 0.25}), (Texts{"0.05", "0.1", "0.25"}));
}

TEST(Plot, RangesWithoutExtentAreWidened) {
  const Ruler same = ruler({}, {0.7, 0.7}, 5, true), nothing = ruler({}, {}, 5, true), zero = ruler({}, {0}, 5, true);
  EXPECT_LT(same.low, 0.7);
  EXPECT_GT(same.high, 0.7);
  for (const Ruler& range : {same, nothing, zero}) {
    EXPECT_LT(range.low, range.high);
    EXPECT_GE(range.ticks.size(), 2U);
  }
  EXPECT_EQ(ruler({.low = 0, .high = 1}, {0.2, 0.3}, 5, true).high, 1);
  EXPECT_LT(ruler({.logarithmic = true}, {0.1}, 5, false).low, 0.1);
}

TEST(Plot, ValuesAreAtTheirPositions) {
  EXPECT_EQ(ruler({.low = 0, .high = 10}, {}, 5, true).share(2.5), 0.25);
  EXPECT_NEAR(ruler({.low = 0.01, .high = 100, .logarithmic = true}, {}, 5, true).share(1), 0.5, 1e-12);
  EXPECT_EQ(ruler({.low = 0, .high = 1}, {}, 5, true).share(kInfinity), 2);
}

// ---- pictures

Chart small_chart(Mark mark) {
  Chart chart{.title = "Mean p", .mark = mark};
  chart.x.label = "sigma";
  chart.y.label = "p";
  chart.series = {{"one", {{0, 0.2, 0.1, 0.3}, {1, 0.5, 0.4, 0.6}, {2, 0.9, 0.8, 1.0}}}, {"two", {{0, 0.3}, {1, 0.6}, {2, 0.7}}}};
  return chart;
}

TEST(Plot, EveryKindOfChartIsWellFormed) {
  for (const Mark mark : {Mark::line, Mark::bar, Mark::scatter}) {
    Chart chart = small_chart(mark);
    if (mark != Mark::line) chart.x.categories = {"a", "b", "c"};
    for (const Surroundings surroundings : {Surroundings::file, Surroundings::page}) {
      const std::string text = svg(chart, surroundings);
      EXPECT_EQ(xml_problem(text), "");
      EXPECT_EQ(occurrences(text, "nan"), 0U);
      EXPECT_EQ(occurrences(text, "inf"), 0U);
      for (const char* part : {">one<", ">two<", ">sigma<", ">p<", ">Mean p<"}) EXPECT_GE(occurrences(text, part), 1U) << part;
    }
  }
}

TEST(Plot, AFileHasItsOwnGroundAndAPageHasNot) {
  const std::string file = svg(small_chart(Mark::line), Surroundings::file),
                    page = svg(small_chart(Mark::line), Surroundings::page);
  EXPECT_EQ(occurrences(file, "fill=\"#fff\""), 1U);
  EXPECT_EQ(occurrences(file, "var("), 0U);
  EXPECT_EQ(occurrences(page, "#fff"), 0U);
  EXPECT_EQ(occurrences(page, "color:var(--plot-1,#0072b2)"), 2U);  // legend and line
  EXPECT_EQ(occurrences(page, "http"), 1U);                         // only the name space
}

TEST(Plot, TextsAreEscaped) {
  Chart chart = small_chart(Mark::bar);
  const std::string bad = "</title><script>&\"'\x01\xff";
  chart.title = chart.x.label = chart.y.label = chart.series[0].name = chart.series[0].points[0].title = bad;
  chart.x.categories = {bad, "b", "c"};
  const std::string text = svg(chart, Surroundings::page);
  EXPECT_EQ(xml_problem(text), "");
  EXPECT_EQ(occurrences(text, "<script"), 0U);
  EXPECT_GE(occurrences(text, "&lt;script&gt;&amp;&quot;&#39;\\x01\\xff"), 4U);
  EXPECT_EQ(escaped("a\xef\xbf\xbf"
                    "b"),
            "a b");
}

TEST(Plot, ValuesThatAreNotFiniteLeaveAGap) {
  Chart chart{.title = "gap"};
  chart.series = {
      {"", {{0, 1}, {1, 2}, {2, kMissing}, {3, 2, -kInfinity, kInfinity}, {4, kInfinity}, {kMissing, 1}, {5, 3}, {6, 1e305}}}};
  const std::string text = svg(chart, Surroundings::file);
  EXPECT_EQ(xml_problem(text), "");
  EXPECT_EQ(occurrences(text, "nan") + occurrences(text, "inf"), 0U);
  const std::size_t line = text.find("stroke-width=\"2\"");
  ASSERT_NE(line, std::string::npos);
  const std::string path = text.substr(text.rfind("<path", line), line - text.rfind("<path", line));
  EXPECT_EQ(occurrences(path, "M"), 3U);  // three parts: 0 to 1, 3, and 5
  EXPECT_EQ(occurrences(path, "L"), 1U);
}

TEST(Plot, AChartWithoutValuesShowsNoValues) {
  for (Chart chart : {Chart{}, Chart{.title = "empty", .series = {{"a", {}}, {"b", {{kMissing, kMissing}}}}}}) {
    for (const Mark mark : {Mark::line, Mark::bar, Mark::scatter}) {
      chart.mark = mark;
      const std::string text = svg(chart, Surroundings::file);
      EXPECT_EQ(xml_problem(text), "");
      EXPECT_EQ(occurrences(text, "no values"), 1U);
    }
  }
}

// ---- maps

Chart small_map() {
  Chart chart{.title = "p", .mark = Mark::map};
  chart.x.label = "first";
  chart.y.label = "second";
  chart.grid = {{0, 1, 2}, {10, 20}, {0, 0, 1, 0.5, kMissing, 1}, {.label = "value", .low = 0, .high = 1}};
  return chart;
}

TEST(Plot, AMapHasACellForEveryValueAndABar) {
  const Chart chart = small_map();
  const Layout layout = lay_out(chart);
  EXPECT_EQ(layout.x.low, -0.5);  // half a cell beyond the centres
  EXPECT_EQ(layout.x.high, 2.5);
  EXPECT_EQ(layout.y.low, 5);
  EXPECT_EQ(layout.y.high, 25);
  const std::string text = cells(chart.grid, layout);
  EXPECT_EQ(occurrences(text, "<path"), 3U);  // colours: 0, 1/2 and 1
  EXPECT_EQ(occurrences(text, "z"), 4U);      // adjacent cells of one colour are one rectangle; the missing cell has none
  const std::string zeros = "M" + px(layout.left) + " " + px(layout.at_y(15)) + "H" + px(layout.at_x(1.5)) + "V" +
                            px(layout.bottom) + "H" + px(layout.left) + "z";
  EXPECT_EQ(occurrences(text, "d=\"" + zeros + "\" fill=\"" + map_colour(0) + "\""), 1U) << text;
  EXPECT_EQ(occurrences(text, "M" + px(layout.at_x(1.5))), 2U);  // both ones
}

TEST(Plot, ColoursOfMapsGrowBrighter) {
  EXPECT_EQ(map_colour(0), "#440154");
  EXPECT_EQ(map_colour(1), "#fde725");
  EXPECT_EQ(map_colour(-3), map_colour(0));
  EXPECT_EQ(map_colour(7), map_colour(1));
  const auto brightness = [](const std::string& colour) {
    const auto part = [&](std::size_t at) { return std::stoi(colour.substr(at, 2), nullptr, 16); };
    return 0.3 * part(1) + 0.59 * part(3) + 0.11 * part(5);
  };
  for (int k = 0; k < 20; ++k) EXPECT_LT(brightness(map_colour(k / 20.0)), brightness(map_colour((k + 1) / 20.0)));
}

TEST(Plot, MapsFitPagesAndPhones) {
  for (const int width : {720, 360, 200}) {
    Chart chart = small_map();
    chart.width = width;
    const Layout layout = lay_out(chart);
    EXPECT_LT(layout.right, layout.bar);
    EXPECT_GT(layout.right - layout.left, 0.4 * width);
    for (const Tick& tick : layout.colours.ticks) EXPECT_LE(layout.bar + kBar + kRoom + text_width(tick.text), width);
    for (const Surroundings surroundings : {Surroundings::file, Surroundings::page}) {
      const std::string text = svg(chart, surroundings);
      EXPECT_EQ(xml_problem(text), "");
      for (const char* part : {">value<", ">first<", ">second<", ">0.2<"}) EXPECT_EQ(occurrences(text, part), 1U) << part;
      EXPECT_EQ(occurrences(text, "nan"), 0U);
    }
  }
}

TEST(Plot, AMapWithoutValuesShowsNoValues) {
  Chart nothing{.mark = Mark::map}, missing = small_map(), torn = small_map();
  missing.grid.values.assign(6, kMissing);
  torn.grid.values.pop_back();
  for (const Chart& chart : {nothing, missing, torn}) {
    const std::string text = svg(chart, Surroundings::file);
    EXPECT_EQ(xml_problem(text), "");
    EXPECT_EQ(occurrences(text, "no values"), 1U);
  }
}

// ----

TEST(Plot, ManyPointsAreOnePath) {
  Chart chart{.mark = Mark::scatter, .diagonal = true};
  chart.series = {{"many", {}}};
  for (int i = 0; i < 20000; ++i)
    chart.series[0].points.push_back({std::fmod(i * 0.618, 1.0), std::fmod(i * 0.414, 1.0), {}, {}, "point"});
  chart.series[0].points.push_back(chart.series[0].points[0]);
  const std::string text = svg(chart, Surroundings::file);
  EXPECT_EQ(xml_problem(text), "");
  EXPECT_LT(text.size(), 400000U);
  EXPECT_EQ(occurrences(text, "<title>"), 1U);
}

TEST(Plot, LongNamesOfCategoriesAreSlantedOrLeftOut) {
  Chart chart = small_chart(Mark::bar);
  for (int k = 0; k < 100; ++k) chart.x.categories.push_back("class number " + std::to_string(k));
  const std::string text = svg(chart, Surroundings::file);
  EXPECT_GT(occurrences(text, "rotate("), 20U);
  EXPECT_LT(occurrences(text, "rotate("), 60U);
}

TEST(Plot, TheFirstSlantedNameIsNotCut) {
  Chart chart = small_chart(Mark::bar);
  chart.width = 300;
  chart.x.categories.assign(10, "a long name");
  const Layout layout = lay_out(chart);
  EXPECT_TRUE(layout.slanted);
  EXPECT_GT(layout.at_x(0) - 0.82 * text_width("a long name"), 0);
}

TEST(Plot, LegendsAndTitlesFitTheWidth) {
  Chart chart = small_chart(Mark::line);
  chart.width = 300;
  chart.title = "A title of many words that does not fit into one line of this width";
  chart.series[0].name = std::string(200, 'w');
  const std::string text = svg(chart, Surroundings::file);
  EXPECT_EQ(occurrences(text, std::string(200, 'w')), 0U);
  EXPECT_EQ(occurrences(text, "…"), 1U);
  EXPECT_GE(occurrences(text, "font-weight"), 2U);
}

TEST(Plot, ViolinsAreAsWideAsTheDensity) {
  // Two clusters of values: the density is largest at the larger one and small between them.
  std::vector<double> values(60, 0.2);
  values.insert(values.end(), 30, 0.8);
  const Density shape = density(values, 1);
  ASSERT_EQ(shape.heights.size(), 60U);
  EXPECT_EQ(shape.heights.front(), 0.2);
  EXPECT_EQ(shape.heights.back(), 0.8);
  EXPECT_EQ(shape.shares.front(), 1);
  EXPECT_NEAR(shape.shares.back(), 0.5, 0.03);
  EXPECT_LT(shape.shares[30], 0.4);
  EXPECT_TRUE(density({kMissing}, 1).heights.empty());
}

TEST(Plot, ViolinsShowMedianAndMeanOfEachCategory) {
  Chart chart{.title = "p", .mark = Mark::violin, .x = {.categories = {"a", "b"}}, .y = {.low = 0, .high = 1}};
  Series series{"mc", {}};
  for (int k = 0; k < 20; ++k) series.points.push_back({0, 0.3 + 0.01 * k});
  series.points.push_back({1, 0.5});
  series.points.push_back({1, kMissing});
  chart.series = {series};
  const std::string text = svg(chart, Surroundings::file);
  EXPECT_EQ(xml_problem(text), "");
  EXPECT_TRUE(text.find("20 values: median 0.395, mean 0.395") != std::string::npos) << text;
  EXPECT_TRUE(text.find("1 values: median 0.5, mean 0.5") != std::string::npos) << text;
  EXPECT_EQ(occurrences(text, "<circle"), 2);
}

TEST(Plot, PicturesInRowsAndColumns) {
  PictureGrid grid{.title = "a < b", .columns = {"low", ""}};
  const Picture picture{1, 2, 1, {0, 255}};
  grid.rows = {{"one & two", {{picture, "0.1"}, {picture, ""}}}, {"three", {{}, {picture, "0.2"}}}};
  const std::string text = svg(grid, Surroundings::page);
  EXPECT_EQ(xml_problem(text), "");
  EXPECT_EQ(occurrences(text, "<image"), 3);
  EXPECT_TRUE(text.find("one &amp; two") != std::string::npos);
}

}  // namespace
}  // namespace probust::report
