// SPDX-License-Identifier: MIT
#include "cli/comparable.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "probust/base/error.h"

namespace probust::cli {
namespace {

const std::string* entry_of(const store::Configuration& configuration, const std::string& name) {
  const auto found = std::find_if(configuration.begin(), configuration.end(), [&](const auto& e) { return e.first == name; });
  return found == configuration.end() ? nullptr : &found->second;
}

// Entries without which p means something else. The mean, std and layout belong to the model; "target" shows in the rows.
constexpr const char* kMeaning[] = {"data", "labels", "scale", "groups", "top", "tolerance"};

}  // namespace

void require_comparable(const RunResults& baseline, const RunResults& run, const std::string& path) {
  for (const char* name : kMeaning) {
    const std::string *before = entry_of(baseline.configuration, name), *now = entry_of(run.configuration, name);
    if (before == nullptr || now == nullptr || *before == *now) continue;
    throw Error{ErrorCode::unreadable, path,
                fmt::format("is not comparable: {} is '{}', and '{}' in the baseline", name, *now, *before),
                "compare runs on the same data"};
  }
}

std::string run_text(const std::string& path, const std::string& model) {
  return model.empty() ? path : path + ", model " + model;
}

std::string points_text(const std::vector<std::int64_t>& points) {
  constexpr std::size_t kShown = 8;
  const std::span<const std::int64_t> shown(points.data(), std::min(points.size(), kShown));
  return fmt::format("{}{}", fmt::join(shown, ", "), points.size() > kShown ? ", ..." : "");
}

}  // namespace probust::cli
