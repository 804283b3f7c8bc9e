// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace probust {

/// The shortest decimal text that reads back as exactly this double ("0.1", "1e-09").
std::string shortest_text(double value);

/// The whole text as a number, independent of the locale; nothing where it is not one.
std::optional<double> parse_double(const std::string& text);

/// The whole text as a decimal integer; nothing where it is not one or does not fit.
std::optional<std::int64_t> parse_integer(const std::string& text);

/// The parts of a text between separators, empty ones included: one more than there are separators.
std::vector<std::string> split(const std::string& text, char separator);

}  // namespace probust
