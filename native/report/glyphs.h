// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace probust::report {

inline constexpr int kGlyphWidth = 7, kGlyphHeight = 13;

/// Whether this pixel of an ASCII character is black. Other characters are drawn as a question mark.
bool glyph_has(char character, int row, int column);

}  // namespace probust::report
