// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace probust {

/// The shortest decimal text that reads back as exactly this double ("0.1", "1e-09").
std::string shortest_text(double value);

/// The whole text as a number, independent of the locale; empty if it is not a number.
std::optional<double> parse_double(const std::string& text);

/// The whole text as a decimal integer; empty if it is not one or does not fit.
std::optional<std::int64_t> parse_integer(const std::string& text);

/// The parts of a text between separators, including empty ones: one more than there are separators.
std::vector<std::string> split(const std::string& text, char separator);

/// The text in lower case (ASCII only).
std::string lower_case(std::string text);

/// Joins the parts: "a, b, c", or "a, b or c" if `last`, the last separator, is " or ".
std::string join(std::span<const std::string> parts, std::string_view last = ", ");

/// The text as valid UTF-8 that is safe to print: control characters (C0, DEL, C1), line separators, characters that reorder text
/// and bytes that are not UTF-8 are escaped, as \x1b or \u202e. Applying it twice changes nothing.
std::string printable(std::string_view text);

/// Whether the first bytes of a file are those of a Git LFS pointer, the placeholder of a large file that was not downloaded.
bool is_lfs_pointer(std::string_view begin);

/// The problem with a Git LFS pointer, and the remedy.
inline constexpr std::string_view kLfsProblem = "is a Git LFS pointer, not the file itself", kLfsHint = "run git lfs pull";

}  // namespace probust
