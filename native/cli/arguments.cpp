// SPDX-License-Identifier: MIT
#include "cli/arguments.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "probust/base/error.h"
#include "probust/base/text.h"

namespace probust::cli {
namespace {

constexpr std::int64_t kMostValues = 10000;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t end = 0; end != std::string::npos; start = end + 1) {
    end = text.find(separator, start);
    parts.push_back(text.substr(start, end == std::string::npos ? end : end - start));
  }
  return parts;
}

// "a..b:n": n values from a to b, evenly spaced in their logarithms.
std::vector<double> parse_range(const std::string& text, std::size_t dots, const std::string& option) {
  const std::size_t colon = text.find(':', dots);
  const auto low = parse_double(text.substr(0, dots));
  const auto high = parse_double(text.substr(dots + 2, colon == std::string::npos ? colon : colon - dots - 2));
  const auto count = colon == std::string::npos ? std::nullopt : parse_integer(text.substr(colon + 1));
  if (!low || !high || !count || *low <= 0 || *high <= 0 || *count < 2 || *count > kMostValues) {
    throw Error{ErrorCode::usage, option, "'" + text + "' is not a range", "write for example 0.01..1:20"};
  }
  std::vector<double> values;
  for (std::int64_t i = 0; i < *count; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(*count - 1);
    values.push_back(i == 0 ? *low : i == *count - 1 ? *high : *low * std::pow(*high / *low, share));
  }
  return values;
}

}  // namespace

std::vector<double> parse_numbers(const std::string& text, const std::string& option) {
  std::vector<double> values;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dots = part.find("..");
    if (dots != std::string::npos) {
      const std::vector<double> range = parse_range(part, dots, option);
      values.insert(values.end(), range.begin(), range.end());
      continue;
    }
    const auto value = parse_double(part);
    if (!value) throw Error{ErrorCode::usage, option, "'" + part + "' is not a number", "write for example 0.1,0.2"};
    values.push_back(*value);
  }
  return values;
}

std::int64_t parse_memory(const std::string& text) {
  const std::string units = "KMGT";
  const std::size_t unit =
      text.empty() ? std::string::npos : units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
  const auto number = parse_double(unit == std::string::npos ? text : text.substr(0, text.size() - 1));
  const double bytes = number.value_or(0) * std::pow(1024.0, unit == std::string::npos ? 0 : static_cast<double>(unit + 1));
  if (!number || !(bytes >= 1) || bytes > 9e18) {
    throw Error{ErrorCode::usage, "--memory", "'" + text + "' is not an amount of memory", "write for example 512M or 4G"};
  }
  return static_cast<std::int64_t>(bytes);
}

std::vector<Noise> parse_noises(const Arguments& arguments) {
  std::vector<Noise> noises;
  for (const std::string& list : arguments.sigma) {
    for (const double sigma : parse_numbers(list, "--sigma")) {
      if (!std::isfinite(sigma) || sigma <= 0) {
        throw Error{ErrorCode::usage, "--sigma", "'" + list + "' holds a value that is not a positive number",
                    "write for example 0.1,0.2"};
      }
      noises.push_back({isotropic_gaussian(), sigma});
    }
  }
  for (const std::string& text : arguments.noise) {
    const std::size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    const std::string scales = colon == std::string::npos ? "" : text.substr(colon + 1);
    for (const double scale : parse_numbers(scales, "--noise")) noises.push_back(parse_noise(name + ":" + shortest_text(scale)));
  }
  if (noises.empty()) throw Error{ErrorCode::usage, "--sigma", "is missing", "give the noise scale, for example --sigma 0.1,0.2"};
  return noises;
}

int thread_count(const DeviceArguments& device) {
  if (device.threads > 0) return device.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace probust::cli
