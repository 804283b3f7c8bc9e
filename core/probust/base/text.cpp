// SPDX-License-Identifier: MIT
#include "probust/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <locale>
#include <sstream>

namespace probust {

std::string shortest_text(double value) { return fmt::format("{}", value); }

std::optional<double> parse_double(const std::string& text) {
  // Not from_chars: libc++ 13, which Emscripten 3.1.6 brings, has it for integers only.
  if (text.empty() || text.front() == ' ' || text.front() == '+') return std::nullopt;
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  double value = 0;
  stream >> value;
  if (stream.fail() || stream.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
  return value;
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
