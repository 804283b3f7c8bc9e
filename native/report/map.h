// SPDX-License-Identifier: MIT
//
// The parts of a map: its cells and its colour bar.
#pragma once

#include <string>

#include "report/layout.h"

namespace probust::report {

/// The cells of a grid that have a value, as one SVG path per colour.
std::string cells(const Grid& grid, const Layout& layout);

/// The colour bar with its ticks and its label.
std::string colour_bar(const Chart& chart, const Layout& layout);

/// The colour, such as "#440154", for a value whose relative position in the range is `share` (0 to 1).
std::string map_colour(double share);

}  // namespace probust::report
