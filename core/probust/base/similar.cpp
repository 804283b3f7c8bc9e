// SPDX-License-Identifier: MIT
#include "probust/base/similar.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace probust {
namespace {

// The smallest number of letters to insert, remove, replace or swap with a neighbour (optimal string alignment).
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

}  // namespace probust
