// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace probust::cli {

/// Writes a message to stderr. If stderr is closed or its disk is full, the message is lost and the command goes on.
void say(std::string_view message);

template <class... T>
void say(fmt::format_string<T...> format, T&&... values) {
  say(std::string_view(fmt::format(format, std::forward<T>(values)...)));
}

/// Flushes stdout. Returns `status`, or after a failed write, which it reports, the status of ErrorCode::resources.
int end_output(int status);

/// The words that are the most like a mistyped one, best first: at most three, none that is too different.
std::vector<std::string> similar_words(std::string_view typed, const std::vector<std::string>& words);

}  // namespace probust::cli
