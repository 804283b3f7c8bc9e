// SPDX-License-Identifier: MIT
#include "report/words.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

namespace probust::report {
namespace {

constexpr const char* kNone = "–";

}  // namespace

std::string probability(double p) { return std::isfinite(p) ? fmt::format("{:.4f}", p) : kNone; }

std::string interval(double low, double high) {
  return std::isfinite(low) && std::isfinite(high) ? fmt::format("{:.4f} to {:.4f}", low, high) : kNone;
}

std::string interval(const Estimate& estimate) {
  if (estimate.ci_low && estimate.ci_high) return interval(*estimate.ci_low, *estimate.ci_high);
  const double error = 2 * estimate.std_error.value_or(NAN);
  return std::isfinite(error) ? fmt::format("± {:.4f}", error) : kNone;
}

std::string percent(double share) { return std::isfinite(share) ? fmt::format("{:.1f}%", 100 * share) : kNone; }

std::string rounded(double value) { return std::isfinite(value) ? fmt::format("{:.3g}", value) : kNone; }

std::string counted(std::int64_t count) {
  std::string text = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string counted(std::int64_t count, const std::string& what) { return counted(count) + " " + what + (count == 1 ? "" : "s"); }

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return kNone;
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string class_text(std::int64_t number, const std::vector<std::string>& names) {
  if (number < 0 || number >= std::ssize(names)) return std::to_string(number);
  return fmt::format("{} ({})", number, names[static_cast<std::size_t>(number)]);
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

std::string tolerated(const ToleratedScale& scale) {
  const char* beyond = scale.kind == ToleratedScale::Kind::below ? "< " : scale.kind == ToleratedScale::Kind::above ? "> " : "";
  return beyond + rounded(scale.sigma);
}

std::string text_of(const GroupKey& key) {
  return (key.model.empty() ? "" : key.model + ", ") + key.noise + ", " + key.estimator;
}

}  // namespace probust::report
