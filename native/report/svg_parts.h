// SPDX-License-Identifier: MIT
//
// Builds elements of SVG as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/plot.h"

namespace probust::report {

inline constexpr double kFont = 13, kTitleFont = 15;

/// The approximate width of the text in a typical sans-serif font; the reader's font is unknown.
double text_width(const std::string& text, double font = kFont);

/// The opening <svg> tag of a picture of this size, its title, and a white background if it is a separate file. `style` is the
/// style attribute of a picture that is part of a page.
std::string svg_head(int width, int height, const std::string& title, Surroundings surroundings,
                     std::string_view style = "width:100%;height:auto");

/// A length with at most one decimal.
std::string px(double value);

/// The text, cut to at most `width`. If it is cut, it ends with an ellipsis.
std::string shortened(std::string text, double width);

/// The text divided into lines, each at most `width` wide unless a single word is wider. An empty text has no lines.
std::vector<std::string> wrapped(const std::string& text, double width, double font);

std::string text_at(double x, double y, const std::string& text, const std::string& attributes = "");
std::string line_from(double x1, double y1, double x2, double y2, const std::string& attributes);

/// The path of the marker of series k with radius r. Its shape depends on k, so that series can be distinguished without
/// colour.
std::string marker(std::size_t k, double x, double y, double r);

/// Completes an element whose beginning is `open`, such as `<rect x="1"`, and gives it a title unless `title` is empty.
std::string titled(const std::string& open, const char* tag, const std::string& title);

}  // namespace probust::report
