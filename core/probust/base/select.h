// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace probust {

/// The elements of `all` at positions `which`, in the order of `which`.
template <class T>
std::vector<T> select(const std::vector<T>& all, std::span<const std::int64_t> which) {
  std::vector<T> some;
  some.reserve(which.size());
  for (const std::int64_t i : which) some.push_back(all[static_cast<std::size_t>(i)]);
  return some;
}

}  // namespace probust
