// SPDX-License-Identifier: MIT
#include "cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

#include "probust/base/error.h"
#include "probust/base/text.h"
#include "probust/perturb/noise_text.h"

namespace probust::cli {
namespace {

constexpr std::int64_t kMostValues = 10000;

// Parses "a..b:n": n values from a to b in geometric progression, rounded to six digits so that they are readable.
std::vector<double> parse_range(const std::string& text, std::size_t dots, const std::string& option) {
  const std::size_t colon = text.find(':', dots);
  const auto low = parse_double(text.substr(0, dots));
  const auto high = parse_double(text.substr(dots + 2, colon == std::string::npos ? colon : colon - dots - 2));
  const auto count = colon == std::string::npos ? std::nullopt : parse_integer(text.substr(colon + 1));
  if (!low || !high || !count || *low <= 0 || *high <= 0 || *count < 2 || *count > kMostValues) {
    throw Error{ErrorCode::usage, option, "is '" + text + "', which is not a range", "try 0.01..1:20"};
  }
  const auto steps = static_cast<double>(*count - 1);
  const bool distinct = std::fabs(std::log(*high / *low)) > 1e-4 * steps;  // after rounding to six digits
  std::vector<double> values;
  for (std::int64_t i = 0; i < *count; ++i) {
    const double share = static_cast<double>(i) / steps;
    const double between = *low * std::pow(*high / *low, share);
    const double readable = distinct ? *parse_double(fmt::format("{:.6g}", between)) : between;
    values.push_back(i == 0 ? *low : i == *count - 1 ? *high : readable);
  }
  return values;
}

// Whether the file is in `folder` or in one of its subfolders.
bool lies_in(const std::string& file, const std::string& folder) {
  std::error_code unknown;
  if (!std::filesystem::is_directory(folder, unknown)) return false;
  const std::string inside =
      std::filesystem::relative(std::filesystem::weakly_canonical(file, unknown), folder, unknown).string();
  return !unknown && !inside.empty() && !inside.starts_with("..");
}

}  // namespace

std::vector<std::int64_t> parse_outputs(const std::string& text) {
  constexpr std::int64_t kMost = 1 << 20;
  std::vector<std::int64_t> outputs;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dots = part.find("..");
    const auto first = parse_integer(part.substr(0, dots));
    const auto last = dots == std::string::npos ? first : parse_integer(part.substr(dots + 2));
    if (!first || !last || *first < 0 || *last < *first || *last > kMost)
      throw Error{ErrorCode::usage, "--outputs", "has '" + part + "', which is neither a number nor a range", "try 0,1 or 0..9"};
    for (std::int64_t k = *first; k <= *last; ++k) outputs.push_back(k);
  }
  return outputs;
}

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
    if (!value) throw Error{ErrorCode::usage, option, "has '" + part + "', which is not a number", "try 0.1,0.2"};
    values.push_back(*value);
  }
  return values;
}

namespace {

// The parts of "MODEL:SCALES@COLUMNS", where SCALES is a list. If the text has no such list, `scales` is empty.
struct ScaleList {
  std::string before, after;
  std::vector<double> scales{};
  std::string text(double scale) const { return before + shortest_text(scale) + after; }
};

ScaleList scale_list(const std::string& text) {
  // In rows, the text of a noise model ends with the clipping range. The comma in this range does not separate scales.
  if (without_clipping(text).size() < text.size()) return {};
  const std::size_t columns = std::min(text.rfind('@'), text.size()), at = std::min(text.rfind("/sqrt(d)"), columns);
  std::size_t colon = text.rfind(':', at);
  if (const std::size_t dots = text.rfind("..", at); dots < colon) colon = text.rfind(':', dots);  // 0.05..0.4:4
  const std::string list = colon == std::string::npos ? "" : text.substr(colon + 1, at - colon - 1);
  const bool sweep = list.find(',') != std::string::npos || list.find("..") != std::string::npos;
  if (!sweep || list.find_first_not_of("0123456789.,:+-eE") != std::string::npos) return {};
  if (text.find('+') < colon && text.find('+') != std::string::npos)
    throw Error{ErrorCode::usage, "noise '" + text + "'", "has several scales for one of its parts",
                "give one --noise for each combination of scales"};
  ScaleList found{text.substr(0, colon + 1), text.substr(at), parse_numbers(list, "--noise")};
  for (const double scale : found.scales) {
    if (!std::isfinite(scale) || scale <= 0)
      throw Error{ErrorCode::usage, "noise '" + text + "'", "has a scale that is not a positive number", "try gaussian:0.1,0.2"};
  }
  return found;
}

// Parses a noise model with one scale or a list of scales. The noise models share one shape unless the number is a parameter of
// the shape.
std::vector<Noise> parse_sweep(const std::string& text, const NoiseSource& source) {
  const ScaleList list = scale_list(text);
  if (list.scales.empty()) return {parse_noise(text, source)};
  std::vector<Noise> noises;
  for (const double scale : list.scales) {
    // If the shape prints the same text for all scales, the number is not a scale but a parameter of the shape.
    const bool shared = !noises.empty() && noises[0].shape->text(1) != noises[0].shape->text(2);
    noises.push_back(shared ? Noise{noises[0].shape, scale} : parse_noise(list.text(scale), source));
  }
  return noises;
}

std::vector<ColumnRange> ranges_to_clip(const Arguments& arguments) {
  std::string text;
  for (const std::string& part : arguments.question.clip) text += (text.empty() ? "" : ",") + part;
  return parse_ranges(text.empty() ? "0,1" : text, arguments.question.levels, "--clip");
}

}  // namespace

std::vector<std::string> single_noises(const std::vector<std::string>& texts) {
  std::vector<std::string> single;
  for (const std::string& text : texts) {
    const ScaleList list = scale_list(text);
    if (list.scales.empty()) single.push_back(text);
    for (const double scale : list.scales) single.push_back(list.text(scale));
  }
  return single;
}

std::vector<Noise> parse_noises(const Arguments& arguments, const NoiseSource& source) {
  std::vector<Noise> noises;
  for (const std::string& list : arguments.question.sigma) {
    for (const double sigma : parse_numbers(list, "--sigma")) {
      if (!std::isfinite(sigma) || sigma <= 0) {
        throw Error{ErrorCode::usage, "--sigma", "is '" + list + "', which contains a value that is not a positive number",
                    "try 0.1,0.2"};
      }
      noises.push_back({isotropic_gaussian(), sigma});
    }
  }
  for (const std::string& text : arguments.question.noise) {
    for (Noise& noise : parse_sweep(text, source)) noises.push_back(std::move(noise));
  }
  if (noises.empty()) throw Error{ErrorCode::usage, "--sigma", "is missing", "give noise scales, such as --sigma 0.1,0.2"};
  if (arguments.question.clip.empty() && arguments.question.levels == 0) return noises;
  for (Noise& noise : noises) noise.shape = clipped(noise.shape, ranges_to_clip(arguments));
  return noises;
}

void refuse_overwriting(const Arguments& arguments) {
  const DataArguments& data = arguments.data;
  for (const auto& [flag, output] : {std::pair{"--output", arguments.output}, std::pair{"--plot", arguments.analysis.plot},
                                     std::pair{"--gallery", arguments.analysis.gallery}}) {
    if (output.empty()) continue;
    if (lies_in(output, data.path)) {
      throw Error{ErrorCode::usage, flag, fmt::format("is '{}', which is inside the data folder {}", output, data.path),
                  "choose a file elsewhere"};
    }
    std::vector<std::string> inputs = arguments.runs;
    inputs.insert(inputs.end(), arguments.analysis.models.begin(), arguments.analysis.models.end());
    inputs.insert(inputs.end(), {arguments.model, arguments.run, arguments.analysis.images, data.path, data.labels, data.classes,
                                 arguments.train.test});
    for (const std::string& input : inputs) {
      std::error_code unlike;  // keeps equivalent() from throwing if a file does not exist
      if (!input.empty() && std::filesystem::equivalent(input, output, unlike))
        throw Error{ErrorCode::usage, flag, fmt::format("is '{}', which is the input {}", output, input), "choose another file"};
    }
  }
}

int thread_count(const DeviceArguments& device) {
  if (device.threads > 0) return device.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace probust::cli
