// SPDX-License-Identifier: MIT
#include "probust/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace probust {

std::string shortest_text(double value) { return fmt::format("{}", value); }

namespace {

// The number at `begin`, and a pointer past its last character; empty if there is no number or it is out of the range of double.
std::optional<std::pair<double, const char*>> read_double(const char* begin, const char* end) {
#if defined(__cpp_lib_to_chars)
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc()) return std::nullopt;
  return std::pair(value, stop);
#else
  // libc++ 13, which comes with Emscripten 3.1.6, parses only integers; its C library has only the "C" locale. (Streams would
  // pull all of std::locale into the module.)
  char* stop = nullptr;
  const double value = std::strtod(begin, &stop);
  if (stop == begin || stop > end || !std::isfinite(value)) return std::nullopt;
  return std::pair(value, static_cast<const char*>(stop));
#endif
}

}  // namespace

std::optional<double> parse_double(const std::string& text) {
  // Allows digits, signs, a point and an exponent; rejects "inf" and hexadecimal.
  if (text.empty() || text.front() == '+' || text.find_first_not_of("0123456789+-.eE") != std::string::npos) return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto number = read_double(text.data(), end);
  if (!number || number->second != end) return std::nullopt;
  return number->first;
}

std::optional<std::int64_t> parse_integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return text;
}

std::string join(std::span<const std::string> parts, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? last : ", ";
    text += parts[i];
  }
  return text;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  parts.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), separator)) + 1);
  std::size_t start = 0;
  for (std::size_t end = 0; end != std::string::npos; start = end + 1) {
    end = text.find(separator, start);
    parts.push_back(text.substr(start, end == std::string::npos ? end : end - start));
  }
  return parts;
}

namespace {

// The first code point of `text` and its number of bytes. If the text does not begin with valid UTF-8: its first byte, and length
// 0.
std::pair<std::uint32_t, std::size_t> first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {lead, 0};
  std::uint32_t point = lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {lead, 0};
    point = point << 6 | (byte(i) & 0x3fU);
  }
  const bool overlong = point < (length == 4 ? 0x10000U : length == 3 ? 0x800U : 0x80U);
  const bool surrogate = point >= 0xd800 && point < 0xe000;
  return overlong || surrogate || point > 0x10ffff ? std::pair{lead, std::size_t{0}} : std::pair{point, length};
}

bool is_control(std::uint32_t point) {
  const auto within = [&](std::uint32_t low, std::uint32_t high) { return point >= low && point <= high; };
  const bool reorders = point == 0x61c || within(0x200e, 0x200f) || within(0x202a, 0x202e) || within(0x2066, 0x2069);
  return point < 0x20 || within(0x7f, 0x9f) || within(0x2028, 0x2029) || reorders;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto [point, length] = first_code_point(text);
    if (length == 0 || (length == 1 && is_control(point))) {
      result += fmt::format("\\x{:02x}", point);
    } else if (is_control(point)) {
      result += fmt::format("\\u{:04x}", point);
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

bool is_lfs_pointer(std::string_view begin) {
  constexpr std::string_view kPointerBegin = "version https://git-lfs.github.com/spec/";
  return begin.substr(0, kPointerBegin.size()) == kPointerBegin;
}

}  // namespace probust
