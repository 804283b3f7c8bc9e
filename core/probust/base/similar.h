// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace probust {

/// The words most similar to a mistyped one, best first: at most three, and none that is too different.
std::vector<std::string> similar_words(std::string_view typed, const std::vector<std::string>& words);

}  // namespace probust
