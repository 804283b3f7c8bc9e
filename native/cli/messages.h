// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "probust/base/error.h"

namespace probust::cli {

/// Writes a message to stderr. If stderr is closed or its disk is full, the message is lost and the command continues.
void say(std::string_view message);

template <class... T>
void say(fmt::format_string<T...> format, T&&... values) {
  say(std::string_view(fmt::format(format, std::forward<T>(values)...)));
}

/// The error to report if output could not be written.
Error write_error();

/// Flushes stdout and returns `status`. If a write to stdout has failed, reports write_error() and returns its status instead.
int end_output(int status);

}  // namespace probust::cli
