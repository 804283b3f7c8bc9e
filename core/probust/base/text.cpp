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

// The number that `text` begins with, and where it ends; nothing where it is none or beyond the range of double.
std::optional<std::pair<double, const char*>> read_double(const char* begin, const char* end) {
#if defined(__cpp_lib_to_chars)
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc()) return std::nullopt;
  return std::pair(value, stop);
#else
  // libc++ 13, which Emscripten 3.1.6 brings, reads integers only; the C library there knows no locale but "C". (Streams would
  // bring all of std::locale into the module.)
  char* stop = nullptr;
  const double value = std::strtod(begin, &stop);
  if (stop == begin || stop > end || !std::isfinite(value)) return std::nullopt;
  return std::pair(value, static_cast<const char*>(stop));
#endif
}

}  // namespace

std::optional<double> parse_double(const std::string& text) {
  // Digits, signs, a point and an exponent: neither "inf" nor hexadecimals.
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

}  // namespace probust
