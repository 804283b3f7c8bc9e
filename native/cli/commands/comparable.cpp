// SPDX-License-Identifier: MIT
#include "cli/commands/comparable.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "cli/messages.h"
#include "probust/base/error.h"

namespace probust::cli {
namespace {

const std::string* entry_of(const store::Configuration& configuration, const std::string& name) {
  const auto found = std::find_if(configuration.begin(), configuration.end(), [&](const auto& e) { return e.first == name; });
  return found == configuration.end() ? nullptr : &found->second;
}

// Entries of the configuration that change the meaning of p. "target" is not among them, because the rows contain it.
constexpr const char* kMeaning[] = {"data", "labels", "scale", "groups", "top", "tolerance"};

// Entries for preprocessing. If there are labels, the accuracies and the first check show which of two different values is
// correct.
constexpr const char* kPreparation[] = {"mean", "std", "layout"};

struct Difference {
  const char* name;
  const std::string *before, *now;
};

// The first entry whose values differ. Entries that only one of the two configurations has are not compared.
std::optional<Difference> first_difference(std::span<const char* const> names, const RunResults& baseline,
                                           const RunResults& run) {
  for (const char* name : names) {
    const std::string *before = entry_of(baseline.configuration, name), *now = entry_of(run.configuration, name);
    if (before == nullptr || now == nullptr || *before == *now) continue;
    return Difference{name, before, now};
  }
  return std::nullopt;
}

bool has_labels(const RunResults& run) {
  return std::any_of(run.results.rows.begin(), run.results.rows.end(), [](const Row& row) { return row.label.has_value(); });
}

}  // namespace

void require_comparable(const RunResults& baseline, const RunResults& run, const std::string& path) {
  if (const auto found = first_difference(kMeaning, baseline, run))
    throw Error{ErrorCode::unreadable, path,
                fmt::format("is not comparable with the baseline: {} is '{}' here and '{}' there", found->name, *found->now,
                            *found->before),
                "compare runs on the same data"};
  if (const auto found = first_difference(kPreparation, baseline, run); found && !has_labels(run))
    say("probust: {}: warning: {} is '{}', but '{}' in the baseline; the wrong one can make a model look more robust, and "
        "without labels there is no way to tell which is right\n",
        path, found->name, *found->now, *found->before);
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
