// SPDX-License-Identifier: MIT
#include "cli/messages.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <numeric>

#include "cli/options.h"
#include "probust/base/error.h"

namespace probust::cli {
namespace {

// The least number of letters to insert, remove or replace, or neighbours to exchange (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

void say(std::string_view message) {
  // Not fmt::print, which throws.
  [[maybe_unused]] const auto written = std::fwrite(message.data(), 1, message.size(), stderr);
}

int end_output(int status) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return status;
  const Error error{ErrorCode::resources, "output", "could not be written", "is the disk full, or stdout closed?"};
  say("probust: {}\n", error.message(as_flag));
  return static_cast<int>(error.code);
}

std::vector<std::string> similar_words(std::string_view typed, const std::vector<std::string>& words) {
  std::vector<std::pair<std::size_t, std::string>> candidates;
  for (const std::string& word : words) {
    const std::size_t errors = word.starts_with(typed) && typed.size() >= 3 ? 1 : distance(typed, word);
    if (errors <= std::max<std::size_t>(1, typed.size() / 3)) candidates.emplace_back(errors, word);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  constexpr std::size_t kMost = 3;
  std::vector<std::string> similar;
  for (std::size_t i = 0; i < std::min(kMost, candidates.size()); ++i) similar.push_back(candidates[i].second);
  return similar;
}

}  // namespace probust::cli
